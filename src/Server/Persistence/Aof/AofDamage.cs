namespace Kv.Server.Persistence.Aof;

/// <summary>Where a file is not as it was written.</summary>
/// <param name="Offset">Of the first command or group that does not count.</param>
/// <param name="What">For whoever reads the log.</param>
/// <param name="IsCut">The file ends in the middle of what is there.</param>
/// <param name="AfterGroup">It begins where a group should.</param>
internal sealed record AofDamage(long Offset, string What, bool IsCut, bool AfterGroup);
