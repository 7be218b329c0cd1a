namespace Kv.Server.Configuration;

/// <summary>What makes a new value of an option take effect.</summary>
/// <param name="Apply">Returns null, or why it cannot be.</param>
/// <param name="MayRefuse">Whether it ever returns anything else.</param>
internal sealed record OptionHandler(Func<ServerOptions, string?> Apply, bool MayRefuse);
