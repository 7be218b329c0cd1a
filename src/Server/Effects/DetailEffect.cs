using Kv.Storage;

namespace Kv.Server.Effects;

/// <summary>What a detail of a change is as a command.</summary>
internal static class DetailEffect
{
    public static void Add(EffectBytes to, int database, ReadOnlySpan<byte> key, in KeyDetail detail)
    {
        switch (detail.Kind)
        {
            case KeyDetailKind.MemberDrawn:
                Begin(to, database, 3, "SREM"u8, key);
                to.Add(detail.Member);
                break;
            case KeyDetailKind.FieldExpired:
                Begin(to, database, 3, "HDEL"u8, key);
                to.Add(detail.Member);
                break;
            case KeyDetailKind.Trimmed:
                Begin(to, database, 5, "XTRIM"u8, key);
                to.Add("MAXLEN"u8);
                to.Add("="u8);
                to.Add(detail.Count);
                break;
            case KeyDetailKind.ConsumerAdded:
                to.Begin(database, 5);
                to.Add("XGROUP"u8);
                to.Add("CREATECONSUMER"u8);
                to.Add(key);
                to.Add(detail.Group);
                to.Add(detail.Consumer);
                break;
            case KeyDetailKind.Gone:
                Begin(to, database, 4, "XACK"u8, key);
                to.Add(detail.Group);
                to.Add(detail.Id);
                break;
            case KeyDetailKind.Claimed:
                AddClaimed(to, database, key, detail);
                break;
            case KeyDetailKind.Read:
                to.Begin(database, 7);
                to.Add("XGROUP"u8);
                to.Add("SETID"u8);
                to.Add(key);
                to.Add(detail.Group);
                to.Add(detail.LastId);
                to.Add("ENTRIESREAD"u8);
                to.Add(detail.Count);
                break;
        }

        to.End();
    }

    private static void AddClaimed(EffectBytes to, int database, ReadOnlySpan<byte> key, in KeyDetail detail)
    {
        Begin(to, database, 14, "XCLAIM"u8, key);
        to.Add(detail.Group);
        to.Add(detail.Consumer);
        to.Add(0);
        to.Add(detail.Id);
        to.Add("TIME"u8);
        to.Add(detail.DeliveredMs);
        to.Add("RETRYCOUNT"u8);
        to.Add(detail.Count);
        to.Add("FORCE"u8);
        to.Add("JUSTID"u8);
        to.Add("LASTID"u8);
        to.Add(detail.LastId);
    }

    private static void Begin(EffectBytes to, int database, int words, ReadOnlySpan<byte> name, ReadOnlySpan<byte> key)
    {
        to.Begin(database, words);
        to.Add(name);
        to.Add(key);
    }
}
