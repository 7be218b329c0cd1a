using System.Buffers;

namespace Kv.Storage;

/// <summary>Entries with their ids, fields and values, copied out of a stream as of one instant.</summary>
/// <inheritdoc cref="ElementBuffer" path="/remarks"/>
public sealed class EntryBuffer : IEntrySink, IDisposable
{
    private readonly FieldBuffer _fields = new();
    private StreamId[] _ids = [];
    private int[] _ends = [];       // of each entry: how many fields there are up to its last one

    /// <summary>How many entries there are.</summary>
    public int Count { get; private set; }

    /// <summary>The id of an entry.</summary>
    /// <param name="index">From 0 to <see cref="Count"/> - 1.</param>
    public StreamId Id(int index)
    {
        CheckIndex(index);
        return _ids[index];
    }

    /// <summary>How many fields an entry has.</summary>
    /// <inheritdoc cref="Id" path="/param"/>
    public int FieldCount(int index)
    {
        CheckIndex(index);
        return _ends[index] - FirstField(index);
    }

    /// <summary>The name of a field of an entry; valid until the buffer is next filled, emptied or disposed.</summary>
    /// <param name="index">From 0 to <see cref="Count"/> - 1.</param>
    /// <param name="field">From 0 to <see cref="FieldCount"/> - 1, in the order in which they were added; a name may
    /// come twice.</param>
    public ReadOnlySpan<byte> Field(int index, int field) => _fields.Field(At(index, field));

    /// <summary>The value of a field, valid as long as its name.</summary>
    /// <inheritdoc cref="Field" path="/param"/>
    public ReadOnlySpan<byte> Value(int index, int field) => _fields.Value(At(index, field));

    /// <summary>Forgets all.</summary>
    public void Clear()
    {
        _fields.Clear();
        Count = 0;
    }

    /// <inheritdoc cref="ElementBuffer.Dispose"/>
    public void Dispose()
    {
        Clear();
        _fields.Dispose();
        if (_ids.Length != 0) ArrayPool<StreamId>.Shared.Return(_ids);
        if (_ends.Length != 0) ArrayPool<int>.Shared.Return(_ends);
        _ids = [];
        _ends = [];
    }

    void IEntrySink.Write(scoped StreamEntry entry) => Add(entry);

    /// <summary>Adds an entry after the others.</summary>
    internal void Add(scoped StreamEntry entry)
    {
        Grow();
        _ids[Count] = entry.Id;
        while (entry.Next(out var field, out var value)) _fields.Add(field, value);
        _ends[Count++] = _fields.Count;
    }

    /// <summary>Adds an entry without fields after the others.</summary>
    internal void Add(StreamId id)
    {
        Grow();
        _ids[Count] = id;
        _ends[Count++] = _fields.Count;
    }

    private void Grow()
    {
        if (Count == _ids.Length) ElementBuffer.Grow(ref _ids, Math.Max(16, Count * 2));
        if (Count == _ends.Length) ElementBuffer.Grow(ref _ends, Math.Max(16, Count * 2));
    }

    private int At(int index, int field)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)field, (uint)FieldCount(index), nameof(field));
        return FirstField(index) + field;
    }

    private int FirstField(int index) => index == 0 ? 0 : _ends[index - 1];

    private void CheckIndex(int index) =>
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)Count, nameof(index));
}
