namespace RespBenchmark.Network;

/// <summary>A server's address as redis[s]://[[user:]password@]host[:port][/db].</summary>
/// <param name="Port">Null: not said.</param>
/// <param name="Database">Null: not said.</param>
internal sealed record TargetUri(string Host, int? Port, string? User, string? Password, int? Database, bool IsSecure)
{
    /// <summary>How it is written, for messages.</summary>
    public const string Form = "redis[s]://[user:password@]host[:port][/db]";

    /// <returns>Null: it is none.</returns>
    public static TargetUri? Parse(string text)
    {
        if (!Uri.TryCreate(text, UriKind.Absolute, out Uri? uri) || uri.Scheme is not ("redis" or "rediss")
            || uri.Host.Length == 0) return null;
        string[] user = uri.UserInfo.Split(':', 2);
        string database = uri.AbsolutePath.Trim('/');
        int number = 0;
        if (database.Length > 0 && (!int.TryParse(database, out number) || number < 0)) return null;
        return new TargetUri(uri.Host.Trim('[', ']'), uri.Port > 0 ? uri.Port : null,
            user.Length == 2 && user[0].Length > 0 ? Uri.UnescapeDataString(user[0]) : null,
            user[^1].Length > 0 ? Uri.UnescapeDataString(user[^1]) : null,
            database.Length > 0 ? number : null, uri.Scheme == "rediss");
    }
}
