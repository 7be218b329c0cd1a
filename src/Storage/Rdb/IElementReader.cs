namespace Kv.Storage;

/// <summary>Reads the elements of one of Redis' packed forms out of bytes that nobody vouches for.</summary>
internal interface IElementReader
{
    /// <summary>The next one.</summary>
    /// <param name="digits">Scratch of <see cref="SetView.DigitsMax"/> bytes, where the text of an integer
    /// goes.</param>
    /// <returns>False at the end, and at the first thing that is wrong.</returns>
    bool Next(Span<byte> digits, out ReadOnlySpan<byte> element);

    /// <summary>Whether it has ended, and everything was right.</summary>
    bool IsWhole { get; }

    /// <summary>Where it is, for another reader of the same bytes to go on.</summary>
    PackedPlace Place { get; }
}

/// <summary>A place in a packed form: its offset, how many elements are ahead of it, and how long the last one is. The
/// default one is the beginning.</summary>
internal readonly record struct PackedPlace(int At, int Count, int Before);
