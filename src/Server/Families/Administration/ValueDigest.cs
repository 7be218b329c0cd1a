using System.Diagnostics;
using System.Security.Cryptography;
using Kv.Storage;

namespace Kv.Server.Families;

//  mix:   digest = SHA1(digest ^ SHA1(bytes))      of what has an order: a string, elements of a list, an entry's fields
//  add:   digest = digest ^ SHA1(bytes)            of what has none: members, pairs, keys

/// <summary>The digest of values and data sets that DEBUG DIGEST and DIGEST-VALUE answer: the same for the same data,
/// on a Redis server too.</summary>
/// <remarks>
/// Cost: one or two SHA1 for each element. Not a secret, nor a proof against forgers: it compares data sets in tests.
/// Threads: one at a time; the value is held, or all others are stopped.
/// </remarks>
internal struct ValueDigest
{
    public const int Bytes = 20;

    private Digest _digest;

    /// <summary>Adds a value, in the way of its type.</summary>
    /// <param name="value">Exists.</param>
    /// <param name="store">Whose keyed hash the value's tables go by.</param>
    /// <param name="nowMs">Fields of hashes whose time has passed by then are not there.</param>
    public void AddValue(in ValueView value, Store store, long nowMs)
    {
        Debug.Assert(value.Exists, "what has a digest is there");
        Mix([0, 0, 0, TypeNumber(value.Type)]);
        Span<byte> digits = stackalloc byte[SetView.DigitsMax];
        ref readonly KeyHash hash = ref store.Hash;
        switch (value.Type)
        {
            case DataType.List:
                for (var list = new ListView(value).GetWalk(); list.Next(out var element);) Mix(element);
                break;
            case DataType.Set:
                for (var set = new SetView(value, in hash).GetWalk(); set.Next(out var member);) Add(member);
                break;
            case DataType.Hash:
                for (var fields = new HashView(value, in hash, nowMs).GetWalk();
                    fields.Next(out var field, out var content);) AddPair(field, content);
                break;
            case DataType.SortedSet:
                AddScores(new SortedSetView(value, in hash));
                break;
            case DataType.Stream:
                MixEntries(new StreamView(value));
                break;
            default:
                if (value.Kind != ValueKind.Integer) Mix(value.Bytes);
                else if (value.Integer.TryFormat(digits, out int length)) Mix(digits[..length]);
                break;
        }

        if (value.ExpiryMs >= 0) Add("!!expire!!"u8);
    }

    /// <summary>What was added, in hexadecimal.</summary>
    public override readonly string ToString() => Convert.ToHexStringLower((ReadOnlySpan<byte>)_digest);

    /// <summary>Adds something that has a place.</summary>
    public void Mix(ReadOnlySpan<byte> bytes)
    {
        Add(bytes);
        Span<byte> mixed = stackalloc byte[Bytes];
        Hash(_digest, mixed);
        mixed.CopyTo(_digest);
    }

    /// <summary>Adds the digest of something that has no place.</summary>
    public void Add(in ValueDigest other) => Add((ReadOnlySpan<byte>)other._digest);

    private void Add(ReadOnlySpan<byte> bytes)
    {
        Span<byte> hash = stackalloc byte[Bytes];
        Hash(bytes, hash);
        for (int i = 0; i < Bytes; i++) _digest[i] ^= hash[i];
    }

    private void AddPair(ReadOnlySpan<byte> first, ReadOnlySpan<byte> second)
    {
        var pair = new ValueDigest();
        pair.Mix(first);
        pair.Mix(second);
        Add(pair);
    }

    private void AddScores(SortedSetView set)
    {
        Span<byte> text = stackalloc byte[ScoreText.BytesMax];
        for (var walk = set.From(0); walk.Next(out var member, out double score);)
            AddPair(member, text[..ScoreText.Format(score, text)]);
    }

    private void MixEntries(StreamView stream)
    {
        Span<byte> id = stackalloc byte[2 * SetView.DigitsMax + 1];
        for (var entries = stream.Between(StreamId.Zero, StreamId.Max); entries.Next(out StreamEntry entry);)
        {
            System.Text.Unicode.Utf8.TryWrite(id, $"{entry.Id.Ms}.{entry.Id.Number}", out int length);
            Mix(id[..length]);
            while (entry.Next(out var field, out var content))
            {
                Mix(field);
                Mix(content);
            }
        }
    }

    // As Redis numbers them.
    private static byte TypeNumber(DataType type) => type switch
    {
        DataType.List => 1, DataType.Set => 2, DataType.SortedSet => 3, DataType.Hash => 4,
            DataType.Stream => 6, _ => 0,
    };

#pragma warning disable CA5350      // nothing is kept secret by it: it is what other servers compute
    private static void Hash(ReadOnlySpan<byte> bytes, Span<byte> hash) => SHA1.HashData(bytes, hash);
#pragma warning restore CA5350

    [System.Runtime.CompilerServices.InlineArray(Bytes)]
    private struct Digest
    {
        private byte _first;
    }
}
