using Kv.Server.Users;

namespace Kv.Server.Http;

/// <summary>Who sends a request, as far as it is known before its head is read.</summary>
/// <param name="MayReadFigures">Whether /metrics is shown.</param>
/// <param name="Rules">Of the user that the caller is without a password; null where one is needed.</param>
/// <param name="Address">"address:port" or "path:0".</param>
internal readonly record struct HttpCaller(bool MayReadFigures, UserRules? Rules, HttpHead Head, string Address);
