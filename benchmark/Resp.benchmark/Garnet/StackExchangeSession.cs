using System.Diagnostics;
using System.Globalization;
using RespBenchmark.Workload;
using StackExchange.Redis;

namespace RespBenchmark.Garnet;

/// <summary>One session that calls StackExchange.Redis as an application does: an operation, or a group of them, then
/// the next.</summary>
internal sealed class StackExchangeSession
{
    private const int MixLength = 100;
    private const string SortedSet = "sskey";

    private readonly GarnetOptions _options;
    private readonly IDatabase _database;
    private readonly SharedRecorder _recorder;
    private readonly Draws _draws;
    private readonly int _keyLength;
    private readonly int[] _mix;
    private Xoshiro256 _generator;
    private SessionStream _stream;
    private int _next = MixLength;

    public StackExchangeSession(GarnetOptions options, IDatabase database, SharedRecorder recorder, int number)
    {
        (_options, _database, _recorder) = (options, database, recorder);
        _generator = new Xoshiro256((ulong)number + 1);
        _stream.Session = number;
        var distribution = options.Zipf ? Distribution.Zipf(0.99) : Distribution.Uniform;
        _draws = distribution.Open(options.DbSize, new Seat(0, 1, 1, (ulong)number + 1));
        _keyLength = Math.Max(options.KeyLength, options.DbSize.ToString(CultureInfo.InvariantCulture).Length);
        _mix = [.. options.OpPercent.SelectMany((percent, kind) => Enumerable.Repeat(kind, percent))];
    }

    /// <summary>Until <paramref name="stop"/>; what was begun is waited for.</summary>
    public async Task Run(CancellationToken stop)
    {
        var group = new Task<Reply>[_options.InsideThread];
        int[] kinds = new int[group.Length];
        // Ends: with the token.
        while (!stop.IsCancellationRequested)
        {
            long sent = Stopwatch.GetTimestamp();
            try
            {
                for (int index = 0; index < group.Length; index++)
                    group[index] = Call(_options.OpWorkload[kinds[index] = NextKind()]);
                var replies = await Task.WhenAll(group).ConfigureAwait(false);
                long latency = Stopwatch.GetElapsedTime(sent).Ticks * TimeSpan.NanosecondsPerTick;
                _recorder.Done(kinds, latency, replies.Count(reply => reply == Reply.Nil),
                    replies.Count(reply => reply != Reply.Done));
            }
            catch (RedisServerException refused)
            {
                _recorder.Failed(refused.Message);
            }
            catch (Exception failed) when (failed is RedisException or TimeoutException)
            {
                _recorder.Failed(failed.Message);
                // Not to spin while the library reconnects.
                await Task.Delay(TimeSpan.FromMilliseconds(100), CancellationToken.None).ConfigureAwait(false);
            }
        }
    }

    private enum Reply
    {
        Done,
        Value,
        Nil,
    }

    /// <summary>Each operation as often as its percentage says in every hundred, in another order each time.</summary>
    private int NextKind()
    {
        if (_next == MixLength)
        {
            _next = 0;
            for (int index = MixLength - 1; index > 0; index--)
            {
                int other = (int)_generator.Below(index + 1);
                (_mix[index], _mix[other]) = (_mix[other], _mix[index]);
            }
        }

        return _mix[_next++];
    }

    private async Task<Reply> Call(string op)
    {
        string key = Key();
        switch (op)
        {
            case "GET": return (await _database.StringGetAsync(key).ConfigureAwait(false)).IsNull
                ? Reply.Nil : Reply.Value;
            case "SET": await _database.StringSetAsync(key, Value(key)).ConfigureAwait(false); break;
            case "SETEX": await _database.StringSetAsync(key, Value(key), Ttl).ConfigureAwait(false); break;
            case "DEL": await _database.KeyDeleteAsync(key).ConfigureAwait(false); break;
            case "SETBIT": await _database.StringSetBitAsync(key, BitOffset(), _generator.Below(2) == 1)
                .ConfigureAwait(false); break;
            case "GETBIT": await _database.StringGetBitAsync(key, BitOffset()).ConfigureAwait(false); break;
            case "PUBLISH": await _database.PublishAsync(key, Value(key)).ConfigureAwait(false); break;
            case "SPUBLISH": await _database.ExecuteAsync("SPUBLISH", key, Value(key)).ConfigureAwait(false); break;
            case "ZADD": await AddToSet(key).ConfigureAwait(false); break;
            case "ZREM": await _database.SortedSetRemoveAsync(Set(), key).ConfigureAwait(false); break;
            case "ZCARD": await _database.SortedSetLengthAsync(Set()).ConfigureAwait(false); break;
            case "PING": await _database.PingAsync().ConfigureAwait(false); break;
            default: throw new InvalidOperationException($"online mode has no {op}");
        }

        return Reply.Done;
    }

    private async Task AddToSet(string member)
    {
        string set = Set();
        await _database.SortedSetAddAsync(set, member, 1.0).ConfigureAwait(false);
        if (_options.Ttl > 0) await _database.KeyExpireAsync(set, Ttl).ConfigureAwait(false);
    }

    private TimeSpan Ttl => TimeSpan.FromSeconds(_options.Ttl);

    private string Key() =>
        _draws.Next(ref _generator, ref _stream).ToString(CultureInfo.InvariantCulture).PadLeft(_keyLength, 'X');

    private string Set() =>
        _options.SortedSets == 0 ? SortedSet : $"{SortedSet}{_generator.Below(_options.SortedSets)}";

    private long BitOffset() => _generator.Below(8L * Math.Max(1, _options.ValueLength));

    private RedisValue Value(string key)
    {
        if (_options.ValueLength == 0) return key;
        const string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        byte[] value = new byte[_options.ValueLength];
        foreach (ref byte letter in value.AsSpan()) letter = (byte)letters[(int)_generator.Below(letters.Length)];
        return value;
    }
}
