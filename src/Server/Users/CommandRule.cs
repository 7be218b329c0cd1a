namespace Kv.Server.Users;

/// <summary>A rule for a command or a category, as ACL LIST shows it.</summary>
/// <param name="Allows">"+" or "-".</param>
/// <param name="Name">In lower case: "get", "config|get", "@read", "select|0".</param>
internal sealed record CommandRule(bool Allows, string Name)
{
    public override string ToString() => (Allows ? "+" : "-") + Name;
}
