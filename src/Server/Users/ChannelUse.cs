using Kv.Server.Execution;

namespace Kv.Server.Users;

/// <summary>Which arguments of a command are channels, or patterns of channels, that a user has to be
/// allowed.</summary>
/// <param name="Last">Index of the last one; 0: there is none, -1: the last argument.</param>
/// <param name="IsPattern">A pattern is allowed only where the user's rules have the very same one.</param>
internal readonly record struct ChannelUse(int Last, bool IsPattern)
{
    /// <summary>Unsubscribing is always allowed.</summary>
    public static ChannelUse Of(Command command) =>
        command.Group != CommandGroup.PubSub || command.Container != null ? default : command.Name switch
        {
            "PUBLISH" or "SPUBLISH" => new(1, false),
            "SUBSCRIBE" or "SSUBSCRIBE" => new(-1, false),
            "PSUBSCRIBE" => new(-1, true),
            _ => default,
        };
}
