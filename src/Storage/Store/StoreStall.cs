namespace Kv.Storage;

/// <summary>A session that holds memory back: it has been in one turn for long, and what was unlinked since waits for
/// it.</summary>
/// <param name="Holder">The thread that began the turn, and what it works on, where that is known: "thread kv-worker-0,
/// smembers of client 7".</param>
/// <param name="Milliseconds">For how long memory has waited.</param>
/// <param name="PendingFrees">Things that wait, for this session or another.</param>
/// <param name="PendingBytes">Their bytes.</param>
public readonly record struct StoreStall(string Holder, long Milliseconds, long PendingFrees, long PendingBytes);
