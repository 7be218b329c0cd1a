using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>The bytes of HyperLogLogs are those of a real server: the GET of one is the SET of another.</summary>
public class HyperLogLogBytesTests
{
    [Theory]
    [InlineData(3000)]
    [InlineData(200)]
    [InlineData(20_000)]
    public void Bytes_are_the_same_from_the_first_element_to_a_hundred_thousand(int sparseBytesMax)
    {
        using var pair = new Pair(sparseBytesMax);
        Random random = Seed.NewRandom(81);
        foreach (int total in (int[])[1, 2, 3, 10, 100, 500, 1000, 1500, 2000, 5000, 20_000, 100_000])
        {
            pair.Add("h", total, random);
            pair.Check("h", $"{total} elements");
            pair.Send("PFCOUNT h");
            pair.Check("h", $"{total} elements, counted");
        }
    }

    [Fact]
    public void Bytes_are_the_same_after_every_single_element()
    {
        using var pair = new Pair(1500);
        for (int i = 0; i < 1500; i++)
        {
            pair.Send($"PFADD h {Seed.Value:x}:{i}");
            pair.Check("h", $"{i + 1} elements");
        }
    }

    [Fact]
    public void Bytes_are_the_same_after_merges_of_any_two_sizes()
    {
        using var pair = new Pair(3000);
        Random random = Seed.NewRandom(82);
        int[] sizes = [0, 1, 10, 300, 800, 1500, 30_000];
        foreach (int size in sizes) pair.Add($"h{size}", size, random);
        foreach (int one in sizes)
        {
            foreach (int other in sizes)
            {
                pair.Send($"DEL d e");
                pair.Send($"PFMERGE d h{one} h{other}");
                pair.Check("d", $"{one} and {other} elements");
                pair.Send($"COPY h{one} e");
                pair.Send($"PFMERGE e h{other} missing h0");
                pair.Check("e", $"{other} elements into {one}");
                pair.Send($"PFCOUNT h{one} h{other}");
                pair.Send("PFADD d x y z");
                pair.Check("d", $"{one} and {other} elements, and three more");
            }
        }
    }

    [Fact]
    public void What_one_server_made_another_goes_on_with()
    {
        using var pair = new Pair(3000);
        Random random = Seed.NewRandom(83);
        foreach (int size in (int[])[0, 1, 50, 1000, 10_000])
        {
            pair.Send("DEL a b");
            pair.Add("a", size, random);
            pair.Exchange("a", "b");
            pair.Send("PFCOUNT b");
            pair.Add("b", 300, random);
            pair.Check("b", $"{size} elements and 300 more");
            pair.Send("PFMERGE b a");
            pair.Send("PFCOUNT a b");
            pair.Send("PFDEBUG ENCODING b");
            pair.Check("b", $"{size} elements, 300 more, merged");
        }
    }

    // Most of these are none any more, or corrupt; what the rest is both have to agree on, and on what PFADD makes of
    // it.
    [Fact]
    public void Damaged_bytes_are_refused_or_counted_alike()
    {
        using var pair = new Pair(3000);
        Random random = Seed.NewRandom(84);
        foreach (int size in (int[])[0, 2, 40, 700, 4000]) pair.Add($"h{size}", size, random);
        string[] commands = ["PFCOUNT m", "PFCOUNT m h40", "PFMERGE d m", "PFMERGE m h2", "PFDEBUG DECODE m",
            "PFDEBUG GETREG m", "PFDEBUG TODENSE m", "PFDEBUG ENCODING m", "PFADD m"];
        for (int round = TimeBudget.Count(1500); round > 0; round--)
        {
            byte[] text = pair.Text($"h{random.Next(5) switch { 0 => 0, 1 => 2, 2 => 40, 3 => 700, _ => 4000 }}");
            for (int count = random.Next(1, 4); count > 0; count--)
                text[random.Next(3) == 0 ? random.Next(Math.Min(20, text.Length)) : random.Next(text.Length)] =
                    (byte)random.Next(256);
            pair.Set("m", text);
            pair.Send("DEL d");
            pair.Send(commands[random.Next(commands.Length)]);
            pair.Check("m", "damaged");
            pair.Check("d", "of damaged ones");
        }
    }

    /// <summary>Kv and the reference, side by side.</summary>
    private sealed class Pair : IDisposable
    {
        private readonly TestServer _kv = RemoteServer.Address is { } address
            ? new RemoteServer(address) : KvInstance.Start(), _redis = RedisServer.Start();
        private readonly RespClient _ours, _theirs;

        public Pair(int sparseBytesMax)
        {
            _ours = _kv.Connect();
            _theirs = _redis.Connect();
            _ours.Ok("FLUSHALL");
            Send($"CONFIG SET hll-sparse-max-bytes {sparseBytesMax}");
        }

        public void Dispose()
        {
            _ours.Dispose();
            _theirs.Dispose();
            _kv.Dispose();
            _redis.Dispose();
        }

        /// <summary>The same command to both, which must give the same reply.</summary>
        public void Send(string line)
        {
            Reply ours = _ours.Command(line), theirs = _theirs.Command(line);
            Assert.True(ours.IsSame(theirs), $"{line}: {ours}, not {theirs}; {Seed.Hint}");
        }

        /// <summary>Adds random elements of different lengths, some hundreds a command.</summary>
        public void Add(string key, int elements, Random random)
        {
            Send($"PFADD {key}");
            for (int left = elements; left > 0;)
            {
                var words = new List<byte[]>(RespText.Split($"PFADD {key}"));
                for (int count = Math.Min(left, random.Next(1, 2000)); count > 0; count--, left--)
                {
                    byte[] element = new byte[random.Next(0, 40)];
                    random.NextBytes(element);
                    words.Add(element);
                }

                Reply ours = _ours.Command([.. words]), theirs = _theirs.Command([.. words]);
                Assert.True(ours.IsSame(theirs), $"PFADD: {ours}, not {theirs}; {Seed.Hint}");
            }
        }

        public byte[] Text(string key) => (byte[])_theirs.Ok($"GET {key}").Text!.Clone();

        public void Set(string key, byte[] value)
        {
            foreach (var client in (RespClient[])[_ours, _theirs])
                client.Command("SET"u8.ToArray(), RespText.Bytes(key), value);
        }

        /// <summary>What each has at one key becomes the other's at another.</summary>
        public void Exchange(string from, string to)
        {
            byte[] ours = _ours.Ok($"GET {from}").Text!, theirs = Text(from);
            _ours.Command("SET"u8.ToArray(), RespText.Bytes(to), theirs);
            _theirs.Command("SET"u8.ToArray(), RespText.Bytes(to), ours);
        }

        public void Check(string key, string when)
        {
            Reply ours = _ours.Command($"GET {key}"), theirs = _theirs.Command($"GET {key}");
            if (ours.IsSame(theirs)) return;
            string at = ours.Text == null || theirs.Text == null
                ? "one has none"
                : $"byte {ours.Text.AsSpan().CommonPrefixLength(theirs.Text)} of {ours.Text.Length}, "
                    + $"{theirs.Text.Length}";
            Assert.Fail($"{when}: {at}; {Seed.Hint}");
        }
    }
}
