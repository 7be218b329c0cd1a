namespace Kv.Storage;

/// <summary>How many elements a collection has: fields, members, entries of a stream.</summary>
internal ref struct ReadCount : IValueRead
{
    private readonly ref readonly KeyHash _hash;

    public ReadCount(ref readonly KeyHash hash) => _hash = ref hash;

    public long Count { get; private set; }

    public void Read(in ValueView value) => Count = ValueKinds.TypeOf(value.Kind) switch
    {
        DataType.List => new ListView(value).Count,
        DataType.Hash => new HashView(value, in _hash, nowMs: 0).Count,
        DataType.Set => new SetView(value, in _hash).Count,
        DataType.SortedSet => new SortedSetView(value, in _hash).Count,
        DataType.Stream => new StreamView(value).Length,
        _ => 0,
    };
}
