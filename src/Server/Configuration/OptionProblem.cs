namespace Kv.Server.Configuration;

/// <summary>Something that keeps a server with these options from starting.</summary>
/// <param name="Text">Where it stands and what is wrong, in one line; no secrets.</param>
/// <param name="Remedy">What to do about it, in one line.</param>
public sealed record OptionProblem(string Text, string Remedy);
