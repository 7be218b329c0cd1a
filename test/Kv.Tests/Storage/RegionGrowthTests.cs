using System.Buffers.Binary;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Storage;

/// <summary>A collection whose elements come, go and change their length has about the memory that it would have if it
/// were made anew, however long that goes on.</summary>
public sealed class RegionGrowthTests(ITestOutputHelper output)
{
    private const long LiveBytes = 4 << 20, SpareBytes = 64 * 1024;
    private const int Checks = 12;

    public static TheoryData<string, string> Cases
    {
        get
        {
            var cases = new TheoryData<string, string>();
            foreach (string type in (string[])["hash", "set", "zset", "queue", "list", "stream"])
                foreach (string mix in (string[])["short", "middling", "medium", "long", "two lengths", "in phases"])
                    cases.Add(type, mix);
            return cases;
        }
    }

    [Theory]
    [MemberData(nameof(Cases))]
    public void A_collection_stays_as_large_as_what_is_in_it(string type, string mix)
    {
        var random = Seed.NewRandom((type.Length * 16) + mix.Length);
        using var test = new TestStore();
        var model = new Model(type, mix, random);
        model.Fill(test);
        double worst = 0;
        for (int check = 0; check < Checks; check++)
        {
            for (int i = 0; i < model.Count; i++)
            {
                if (i % 256 == 0) Turn(test);
                model.Change(test, check);
            }

            // Where lengths changed, that was a while ago.
            if (check % 3 != 2) continue;
            test.Check();
            long used = test.Store.Budget.BlockBytes, fresh = model.BytesOfNew();
            double times = (used - SpareBytes) / (double)fresh;
            output.WriteLine($"{check}: {used} bytes, {fresh} if it is made anew, {times:0.000}");
            worst = Math.Max(worst, times);
        }

        model.Compare(test);
        // A round begins when a sixth is free, 1.20 times. What it moves may take a 64th more than there is free, and
        // the next round moves half as much: two such in a row make 1.24, and a 128th is what a round may last, 1.25.
        // Of a list an eighth, 1.14, but its leaves have up to an eighth spare where elements are exchanged: 1.29.
        double most = type == "list" ? 1.3 : 1.25;
        Assert.True(worst <= most, $"{worst:0.000} times what it needs; {Seed.Hint}");
    }

    private static void Turn(TestStore test)
    {
        test.Session.GoOffline();
        test.Store.Maintain();
        test.Begin();
    }

    /// <summary>What there is to be: the length of each element, from which its bytes follow.</summary>
    private sealed class Model
    {
        private readonly byte[] _bytes = new byte[128 * 1024];
        private readonly string _type, _mix;
        private readonly Random _random;
        private readonly (int Number, int Length)[] _elements;
        private int _next, _first;

        public Model(string type, string mix, Random random)
        {
            (_type, _mix, _random) = (type, mix, random);
            long sum = 0;
            for (int i = 0; i < 2000; i++) sum += LengthAt(i % Checks);
            _elements = new (int, int)[Math.Max(100, LiveBytes / (sum / 2000))];
            random.NextBytes(_bytes);
        }

        public int Count => _elements.Length;

        public void Fill(TestStore test)
        {
            for (int i = 0; i < Count; i++)
            {
                if (i % 512 == 0) test.Begin();
                _elements[i] = (_next++, LengthAt(0));
                Add(test, _elements[i]);
            }
        }

        public void Change(TestStore test, int check)
        {
            int length = LengthAt(check);
            if (_type is "queue" or "stream")
            {
                // The first goes, another comes behind the last.
                _elements[_first] = (_next++, length);
                Add(test, _elements[_first]);
                if (_type == "queue")
                    Ok(test.Session.Lists.Pop("k"u8, ListEnd.Left, out var element), () => element.Dispose());
                else Ok(test.Session.Streams.Trim("k"u8, StreamKeep.Newest(Count), out _));
                _first = (_first + 1) % Count;
                return;
            }

            int at = _random.Next(Count);
            var old = _elements[at];
            if (_type == "list")
            {
                _elements[at] = (_next++, length);
                Ok(test.Session.Lists.Set("k"u8, at, BytesOf(_elements[at])));
                return;
            }

            if (_type == "hash" && _random.Next(4) != 0)
            {
                _elements[at].Length = length;
                Add(test, _elements[at]);
                return;
            }

            _elements[at] = (_next++, length);
            Ok(_type switch
            {
                "hash" => test.Session.Hashes.Remove("k"u8, NameOf(old.Number)),
                "set" => test.Session.Sets.Remove("k"u8, BytesOf(old)),
                _ => test.Session.SortedSets.Remove("k"u8, BytesOf(old)),
            });
            Add(test, _elements[at]);
        }

        /// <summary>What the same takes where nothing was ever changed.</summary>
        public long BytesOfNew()
        {
            using var fresh = new TestStore();
            for (int i = 0; i < Count; i++)
            {
                if (i % 512 == 0) Turn(fresh);
                Add(fresh, _elements[(_first + i) % Count]);
            }

            Turn(fresh);
            return fresh.Store.Budget.BlockBytes;
        }

        public void Compare(TestStore test)
        {
            test.Begin();
            for (int i = 0; i < Count; i++)
            {
                if (i % 512 == 0) test.Begin();
                var (number, length) = _elements[i];
                switch (_type)
                {
                    case "hash":
                        Ok(test.Session.Hashes.Get("k"u8, NameOf(number), out var value), () =>
                        {
                            Assert.True(value.Span.SequenceEqual(BytesOf((number, length))));
                            value.Dispose();
                        });
                        break;
                    case "set":
                        Ok(test.Session.Sets.Contains("k"u8, BytesOf((number, length))));
                        break;
                    case "zset":
                        Ok(test.Session.SortedSets.GetRank("k"u8, BytesOf((number, length)), out _, out double score));
                        Assert.Equal(ScoreOf(number), score);
                        break;
                    case "stream":
                        break;
                    default:
                        Ok(test.Session.Lists.Get("k"u8, (i + Count - _first) % Count, out var element), () =>
                        {
                            Assert.True(element.Span.SequenceEqual(BytesOf((number, length))));
                            element.Dispose();
                        });
                        break;
                }
            }

            Ok(_type == "stream" ? test.Session.Streams.Count("k"u8, out long count) : _type switch
            {
                "hash" => test.Session.Hashes.Count("k"u8, out count),
                "set" => test.Session.Sets.Count("k"u8, out count),
                "zset" => test.Session.SortedSets.Count("k"u8, out count),
                _ => test.Session.Lists.Count("k"u8, out count),
            });
            Assert.Equal(Count, count);
            test.Check();
        }

        private void Add(TestStore test, (int Number, int Length) element)
        {
            var bytes = BytesOf(element);
            Ok(_type switch
            {
                "hash" => test.Session.Hashes.Set("k"u8, NameOf(element.Number), bytes),
                "set" => test.Session.Sets.Add("k"u8, bytes),
                "zset" => test.Session.SortedSets.Set("k"u8, bytes, ScoreOf(element.Number)),
                "stream" => test.Session.Streams.Add("k"u8, new StreamId(1, (ulong)element.Number + 1), "field"u8,
                    bytes) == StreamAddStatus.Ok ? StoreStatus.Ok : StoreStatus.NotFound,
                _ => test.Session.Lists.Push("k"u8, ListEnd.Right, bytes),
            });
        }

        // Different elements have different bytes: their number comes first.
        private ReadOnlySpan<byte> BytesOf((int Number, int Length) element)
        {
            BinaryPrimitives.WriteInt32LittleEndian(_bytes, element.Number);
            return _bytes.AsSpan(0, Math.Max(sizeof(int), element.Length));
        }

        private static byte[] NameOf(int number) => BitConverter.GetBytes(number);

        private static double ScoreOf(int number) => unchecked((uint)number * 2654435761) % 100_000;

        private int LengthAt(int check) => _mix switch
        {
            "short" => _random.Next(1, 200),
            "middling" => _random.Next(50, 1000),
            "medium" => _random.Next(100, 2000),
            "long" => (int)Math.Exp(_random.NextDouble() * Math.Log(100_000)),
            "two lengths" => _random.Next(2) == 0 ? _random.Next(5, 30) : _random.Next(5000, 7000),
            _ => (check / 3 % 4) switch
            {
                0 => _random.Next(10, 80),
                1 => _random.Next(700, 1100),
                2 => _random.Next(100, 160),
                _ => _random.Next(1, 5000),
            },
        };
    }

    private static void Ok(StoreStatus status, Action? use = null)
    {
        Assert.Equal(StoreStatus.Ok, status);
        use?.Invoke();
    }
}
