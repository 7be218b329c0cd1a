namespace Kv.Server.Execution;

/// <summary>The ACL categories of a command: those that follow from its flags and its group, and those of its
/// row.</summary>
internal static class AclCategoryRules
{
    private const AclCategories OfOneType = AclCategories.Set | AclCategories.SortedSet | AclCategories.List
        | AclCategories.Hash
        | AclCategories.String | AclCategories.Stream | AclCategories.Connection;

    /// <summary>Every category, in the order in which clients get them.</summary>
    public static readonly AclCategories[] All =
        [.. Enum.GetValues<AclCategories>().Where(category => category != AclCategories.None)];

    private static readonly Dictionary<AclCategories, string> Names =
        All.ToDictionary(category => category, category => category.ToString().ToLowerInvariant());

    private static readonly Dictionary<string, AclCategories> ByName =
        Names.ToDictionary(pair => pair.Value, pair => pair.Key, StringComparer.OrdinalIgnoreCase);

    public static AclCategories Of(Command command)
    {
        // A container that does nothing by itself is in no group's category: rights are given for its subcommands.
        var categories = command.Categories;
        if (command.Subcommands.Length == 0 || command.Handler != null) categories |= OfGroup(command);

        var flags = command.Flags;
        if ((flags & CommandFlags.Write) != 0) categories |= AclCategories.Write;
        // A script that may only read is not in @read all the same.
        if ((flags & CommandFlags.ReadOnly) != 0 && (categories & AclCategories.Scripting) == 0)
            categories |= AclCategories.Read;
        if ((flags & CommandFlags.Admin) != 0) categories |= AclCategories.Admin | AclCategories.Dangerous;
        if ((flags & CommandFlags.PubSub) != 0) categories |= AclCategories.PubSub;
        if ((flags & CommandFlags.Blocking) != 0) categories |= AclCategories.Blocking;
        return categories | ((flags & CommandFlags.Fast) != 0 ? AclCategories.Fast : AclCategories.Slow);
    }

    /// <summary>The name, without "@".</summary>
    public static string Name(AclCategories category) => Names[category];

    /// <summary>The category of a name in any case, without "@".</summary>
    public static bool TryFind(string name, out AclCategories category) => ByName.TryGetValue(name, out category);

    // Server commands and publish/subscribe have no category of their own: theirs come from their flags and rows.
    private static AclCategories OfGroup(Command command) => command.Group switch
    {
        // SORT works on values of some types, WAIT on no key at all: their rows say so, and they are not @keyspace.
        CommandGroup.Generic => (command.Categories & OfOneType) != 0 ? AclCategories.None : AclCategories.Keyspace,
        CommandGroup.String => AclCategories.String,
        CommandGroup.List => AclCategories.List,
        CommandGroup.Set => AclCategories.Set,
        CommandGroup.SortedSet => AclCategories.SortedSet,
        CommandGroup.Hash => AclCategories.Hash,
        CommandGroup.Transactions => AclCategories.Transaction,
        CommandGroup.Connection => AclCategories.Connection,
        CommandGroup.Scripting => AclCategories.Scripting,
        CommandGroup.HyperLogLog => AclCategories.HyperLogLog,
        CommandGroup.Geo => AclCategories.Geo,
        CommandGroup.Stream => AclCategories.Stream,
        CommandGroup.Bitmap => AclCategories.Bitmap,
        _ => AclCategories.None,
    };
}
