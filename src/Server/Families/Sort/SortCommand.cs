using Kv.Server.Execution;
using Kv.Server.Notifications;

namespace Kv.Server.Families;

/// <summary>SORT: the elements of a list, set or sorted set in an order of their own or of other keys.</summary>
internal static class SortCommand
{
    internal static readonly Command[] Table =
    [
        new("SORT", arity: -2, Sort)
        {
            Usage = "key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | DESC] "
                + "[ALPHA] [STORE destination]",
            Summary = "Sorts the elements of a list, set or sorted set, by themselves or by other keys; answers them "
                + "or stores them.",
            Complexity = "O(N+M*log(M)) where N is the number of elements and M the number of those that are wanted; "
                + "with BY a pattern without a star O(N). Other clients are served meanwhile.",
            Since = "1.0.0", Group = CommandGroup.Generic,
            Event = KeyEvent.SortStore,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Categories = AclCategories.Set | AclCategories.SortedSet | AclCategories.List | AclCategories.Dangerous,
            Keys =
            [
                KeySpec.At(1, KeyAccess.RO | KeyAccess.Access),
                KeySpec.Unknown(KeyAccess.RO | KeyAccess.Access),
                KeySpec.Unknown(KeyAccess.OW | KeyAccess.Update),
            ],
            UnnamedKeysFrom = 4,        // SORT key GET pattern
            UsesUnnamedKeys = HasPattern,
        },
        new("SORT_RO", arity: -2, SortReadOnly)
        {
            Usage = "key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | "
                + "DESC] [ALPHA]",
            Summary = "Does the same as SORT, which can store, too.",
            Complexity = "O(N+M*log(M)) where N is the number of elements and M the number of those that are wanted; "
                + "with BY a pattern without a star O(N). Other clients are served meanwhile.",
            Since = "7.0.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly,
            Categories = AclCategories.Set | AclCategories.SortedSet | AclCategories.List | AclCategories.Dangerous,
            Keys =
            [
                KeySpec.At(1, KeyAccess.RO | KeyAccess.Access),
                KeySpec.Unknown(KeyAccess.RO | KeyAccess.Access),
            ],
            UnnamedKeysFrom = 4,
            UsesUnnamedKeys = HasPattern,
        },
    ];

    /// <summary>Whether some other key may be read, or written to: only a pattern with a star looks one up.</summary>
    private static bool HasPattern(in CommandArguments args)
    {
        for (int i = 2; i < args.Count; i++)
            if (args[i].Span.Contains((byte)'*') || CommandName.Equal("STORE"u8, args[i].Span)) return true;
        return false;
    }

    private static void Sort(ref CommandContext context)
    {
        if (SortRequest.TryRead(ref context, stores: true) is { } request) SortSteps.Run(ref context, request);
    }

    private static void SortReadOnly(ref CommandContext context)
    {
        if (SortRequest.TryRead(ref context, stores: false) is { } request) SortSteps.Run(ref context, request);
    }
}
