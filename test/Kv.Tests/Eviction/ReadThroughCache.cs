using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Eviction;

/// <summary>A store at its limit that is read through: what is not found is written. Beside it the same reads go
/// through a list of least recently used keys, of as many as the store has.</summary>
internal sealed class ReadThroughCache : IDisposable
{
    private readonly TestStore _test;
    private readonly byte[] _value;
    private readonly Dictionary<int, LinkedListNode<int>> _places = [];
    private readonly LinkedList<int> _used = [];
    private int _reads, _hits, _hitsOfModel, _turns;

    public ReadThroughCache(MaxMemoryPolicy policy, long limit, int valueBytes)
    {
        _test = new TestStore(new StoreOptions { MaxMemoryBytes = limit });
        _test.Store.MaxMemoryPolicy = policy;
        _value = new byte[valueBytes];
    }

    public Store Store => _test.Store;

    public void Read(int number)
    {
        if ((++_turns & 15) == 0) _test.Begin();
        _reads++;
        ReadModel(number);
        Key key = _test.Session.Key(TestStore.Bytes($"key:{number}"));
        var take = default(TakeBytes);
        if (_test.Session.Read(key, DataType.String, ref take) == StoreStatus.Ok)
        {
            _hits++;
            return;
        }

        _test.WaitForRoom();
        Assert.Equal(StoreStatus.Ok, _test.Session.Set(key, _value));
    }

    /// <summary>The shares of reads that found their key since this was last asked, here and in the list.</summary>
    public (double Store, double Model) TakeRatios()
    {
        var ratios = ((double)_hits / _reads, (double)_hitsOfModel / _reads);
        _reads = _hits = _hitsOfModel = 0;
        return ratios;
    }

    private void ReadModel(int number)
    {
        if (_places.TryGetValue(number, out var place))
        {
            _hitsOfModel++;
            _used.Remove(place);
            _used.AddFirst(place);
            return;
        }

        _places[number] = _used.AddFirst(number);
        long most = Math.Max(1, _test.Store.Count(0));
        // Ends: each round takes one off.
        while (_places.Count > most + 1)
        {
            _places.Remove(_used.Last!.Value);
            _used.RemoveLast();
        }
    }

    public void Dispose() => _test.Dispose();
}
