using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>LCS: what two strings have in common.</summary>
internal static class LcsCommand
{
    internal static readonly Command[] Table =
    [
        new("LCS", arity: -3, Lcs)
        {
            Usage = "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
            Summary = "Finds the longest common subsequence of two strings: itself, its length, or where it matches.",
            Complexity = "O(N*M) where N and M are the lengths. Other clients are served meanwhile.",
            Since = "7.0.0", Group = CommandGroup.String,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.Range(1, 1, 1, KeyAccess.RO | KeyAccess.Access)],
        },
    ];

    private static void Lcs(ref CommandContext context)
    {
        var keys = context.Store.Keys;
        keys.Clear();
        for (int i = 1; i <= 2; i++) context.Args.AddKey(i, keys, context.Session.Database);

        context.Args.Skip(2);
        var search = new LcsSearch(context.Store);
        try
        {
            context.Store.ReadMany(keys, ref search.Texts);
            if (search.Texts.HasOtherType) context.Args.Fail("ERR The specified keys must contain string values"u8);
            ReadOptions(ref context, search);
            if (context.Args.Finish(context.Reply)) search.Run(ref context);
            else search.Dispose();
        }
        catch
        {
            search.Dispose();
            throw;
        }
    }

    private static void ReadOptions(ref CommandContext context, LcsSearch search)
    {
        while (context.Args.Remaining > 0)
        {
            if (context.Args.TryKeyword("IDX"u8)) search.RepliesMatches = true;
            else if (context.Args.TryKeyword("LEN"u8)) search.RepliesLength = true;
            else if (context.Args.TryKeyword("WITHMATCHLEN"u8)) search.RepliesMatchLengths = true;
            else if (context.Args.TryKeyword("MINMATCHLEN"u8)) search.MatchLengthMin = context.Args.NextInt64();
            else context.Args.SyntaxError();
        }

        if (search.RepliesMatches && search.RepliesLength)
        {
            context.Args.Fail("ERR If you want both the length and indexes, please just use IDX."u8);
        }
    }
}
