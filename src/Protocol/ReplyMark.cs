namespace Kv.Protocol;

/// <summary>A place in the output, to come back to or to put a header at.</summary>
/// <param name="Length">Bytes in the output buffer then.</param>
/// <param name="Owed">Values owed then.</param>
public readonly record struct ReplyMark(int Length, int Owed);
