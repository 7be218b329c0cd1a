namespace Kv.Server.PubSub;

/// <summary>A pattern that somebody subscribes to.</summary>
/// <param name="number">How many patterns had joined before this one.</param>
internal sealed class Pattern(byte[] name, Lock guard, long number) : Channel(name, guard)
{
    public readonly long Number = number;

    public override int Bytes => base.Bytes + sizeof(long);
}
