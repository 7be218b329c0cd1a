using Kv.Server.Users;

namespace Kv.Server.Reports;

/// <summary>What of a status is shown beside the figures of INFO: it holds names, keys and values.</summary>
/// <param name="Rules">Of who asks: names of keys that they may not read are left out.</param>
internal readonly record struct StatusParts(UserRules Rules, bool SlowLog, bool Clients, bool Options, bool Origins);
