using Kv.Storage;
using Kv.Tests.Storage;

namespace Kv.Tests.Eviction;

/// <summary>A store at its limit that is read through: what is not found is written. Beside it the same reads go
/// through a model of the policy, of as many keys as the store has.</summary>
internal sealed class ReadThroughCache : IDisposable
{
    private readonly TestStore _test;
    private readonly byte[] _value;
    private readonly CacheModel _model;
    private readonly bool _expires;
    private int _reads, _hits, _hitsOfModel, _turns;

    /// <param name="expires">Whether keys have an expiry, all but one in eight; none comes to its end.</param>
    public ReadThroughCache(MaxMemoryPolicy policy, long limit, int valueBytes, bool expires = false)
    {
        _expires = expires;
        _model = CacheModel.Of(policy, ExpiryOf);
        _test = new TestStore(new StoreOptions { MaxMemoryBytes = limit });
        _test.Store.MaxMemoryPolicy = policy;
        _value = new byte[valueBytes];
    }

    public Store Store => _test.Store;

    public void Read(int number)
    {
        if ((++_turns & 15) == 0) _test.Begin();
        _reads++;
        if (_model.Read(number, _test.Store.Count(0) + 1)) _hitsOfModel++;
        Key key = _test.Session.Key(TestStore.Bytes($"key:{number}"));
        var take = default(TakeBytes);
        if (_test.Session.Read(key, DataType.String, ref take) == StoreStatus.Ok)
        {
            _hits++;
            return;
        }

        _test.WaitForRoom();
        long expiry = ExpiryOf(number);
        Assert.Equal(StoreStatus.Ok, expiry == 0 ? _test.Session.Set(key, _value)
            : _test.Session.Set(key, _value, default, expiry));
    }

    /// <summary>The shares of reads that found their key since this was last asked, here and in the model.</summary>
    public (double Store, double Model) TakeRatios()
    {
        var ratios = ((double)_hits / _reads, (double)_hitsOfModel / _reads);
        _reads = _hits = _hitsOfModel = 0;
        return ratios;
    }

    /// <summary>Between an hour and a week from now, whatever the key's popularity; 0: none.</summary>
    private long ExpiryOf(int number)
    {
        uint hash = (uint)number * 2654435761;
        return !_expires || hash >> 29 == 0 ? 0 : _test.Clock.Ms + 3_600_000 + ((long)(hash % 604_800) * 1000);
    }

    public void Dispose() => _test.Dispose();
}
