using Kv.Protocol;

namespace Kv.Server.Effects;

/// <summary>A command as it was sent, for the feed.</summary>
/// <param name="items">Its arguments with its name; valid during the call.</param>
/// <param name="count">How many; 0: they are gone.</param>
internal readonly unsafe ref struct SentCommand(Argument* items, int count)
{
    public Argument* Items => items;

    public int Count => count;

    /// <summary>Whether it has what was sent for its effect, if it changes something and says nothing else.</summary>
    public bool IsEffect { get; init; }

    /// <summary>The number of its client's database.</summary>
    public int Database { get; init; }

    /// <summary>Its bytes in RESP, where the arguments are gone; null: nobody has kept them.</summary>
    public byte[]? Kept { get; init; }

    /// <summary>Whose it is.</summary>
    public ITicketHolder? Client { get; init; }

    /// <summary>What is kept of it for later turns.</summary>
    public byte[]? Keep()
    {
        if (count == 0) return Kept;
        byte[] bytes = GC.AllocateUninitializedArray<byte>(EffectBytes.Measure(items, count));
        EffectBytes.Write(bytes, items, count);
        return bytes;
    }
}
