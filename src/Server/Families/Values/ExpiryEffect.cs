using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>What the feed says of a time at which a key expires.</summary>
internal static class ExpiryEffect
{
    /// <summary>Says when a key expires from now on, or that it is gone, where that has passed.</summary>
    public static void Say(ref CommandContext context, ReadOnlySpan<byte> key, long expiryMs)
    {
        if (expiryMs <= context.Store.NowMs)
        {
            context.Say("DEL"u8, key);
            return;
        }

        var effect = context.Say(3);
        effect.Add("PEXPIREAT"u8);
        effect.Add(key);
        effect.Add(expiryMs);
        effect.End();
    }
}
