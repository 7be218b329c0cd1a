namespace Kv.Storage;

/// <summary>Walks a large collection and throws, with what is wrong, when it disagrees with itself. For
/// tests.</summary>
internal static class CollectionCheck
{
    /// <summary>Checks it.</summary>
    /// <returns>What the budget is charged with for it.</returns>
    public static long Run(Region region, ValueKind kind, in KeyHash hash)
    {
        region.Check();
        switch (kind)
        {
            case ValueKind.SortedSet:
                new MemberTable(region, in hash).Check();
                ScoreTreeCheck.Run(new ScoreTree(region), new MemberTable(region, in hash));
                break;
            case ValueKind.Hash:
                new FieldTable(region, in hash).Check();
                break;
            case ValueKind.Set:
                new MemberTable(region, in hash).Check();
                break;
            case ValueKind.List:
                new LargeList(region).Check();
                break;
            case ValueKind.Stream:
                StreamCheck.Run(new LargeStream(region));
                break;
        }

        return region.ChargedBytes;
    }
}
