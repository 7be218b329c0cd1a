namespace Kv.Server.Reports;

/// <summary>What of a status is shown beside the figures of INFO: it holds names, keys and values.</summary>
internal readonly record struct StatusParts(bool SlowLog, bool Clients, bool Options);
