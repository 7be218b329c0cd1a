using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class GarnetOpTests
{
    private static OpSettings Settings(int batch = 8, long keys = 1024, int valueLength = 8, int keyLength = 8) =>
        OpSettings.Garnet(keys, keyLength, valueLength, batch, ttlSeconds: 60);

    public static TheoryData<string> Names => [.. GarnetOps.All.Select(op => op.Name)];

    [Theory]
    [InlineData("GET", "GET k")]
    [InlineData("SET", "SET k v")]
    [InlineData("SETEX", "SETEX k 60 v")]
    [InlineData("DEL", "DEL k")]
    [InlineData("INCR", "INCR k")]
    [InlineData("MGET", "MGET k k k")]
    [InlineData("MSET", "MSET k v k v k v")]
    [InlineData("PING", "PING")]
    [InlineData("DBSIZE", "DBSIZE")]
    [InlineData("ZADD", "ZADD k n n")]
    [InlineData("ZREM", "ZREM k n")]
    [InlineData("ZCARD", "ZCARD k")]
    [InlineData("PFADD", "PFADD k v")]
    [InlineData("MPFADD", "PFADD k v v v")]
    [InlineData("PFCOUNT", "PFCOUNT k")]
    [InlineData("PFMERGE", "PFMERGE k k")]
    [InlineData("SETBIT", "SETBIT k n b")]
    [InlineData("GETBIT", "GETBIT k n")]
    [InlineData("BITCOUNT", "BITCOUNT k")]
    [InlineData("BITPOS", "BITPOS k b")]
    [InlineData("BITOP_AND", "BITOP AND k k k")]
    [InlineData("BITOP_XOR", "BITOP XOR k k k")]
    [InlineData("BITOP_OR", "BITOP OR k k k")]
    [InlineData("BITOP_NOT", "BITOP NOT k k")]
    [InlineData("PUBLISH", "PUBLISH k v")]
    [InlineData("SPUBLISH", "SPUBLISH k v")]
    [InlineData("SCRIPTSET", "EVALSHA s 1 k v")]
    [InlineData("SCRIPTGET", "EVALSHA s 1 k")]
    [InlineData("SCRIPTRETKEY", "EVALSHA s 1 k")]
    [InlineData("SETIFPM", "SETIFPM k v *")]
    [InlineData("MYDICTSET", "MYDICTSET k k v")]
    [InlineData("MYDICTGET", "MYDICTGET k k")]
    [InlineData("BITFIELD", "BITFIELD k SET i n n INCRBY i n n GET i n")]
    [InlineData("BITFIELD_GET", "BITFIELD k GET i n")]
    [InlineData("BITFIELD_SET", "BITFIELD k SET i n n")]
    [InlineData("BITFIELD_INCR", "BITFIELD k INCRBY i n n")]
    [InlineData("GEOADD", "GEOADD k f f n")]
    public void An_operation_sends_what_its_row_says(string name, string shape)
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find(name)!, Settings(batch: 3));
        foreach (string[] words in Rendered.Commands(workload, 50))
        {
            string[] expected = shape.Split(' ');
            Assert.Equal(expected.Length, words.Length);
            for (int index = 0; index < words.Length; index++) AssertWord(expected[index], words[index]);
        }
    }

    private static void AssertWord(string shape, string word) => Assert.Matches(shape switch
    {
        "k" => "^X{4,7}[0-9]{1,4}$",
        "v" => "^[A-Za-z0-9]{8}$",
        "n" => "^(0|[1-9][0-9]{0,3})$",
        "b" => "^[01]$",
        "s" => "^[0-9a-f]{40}$",
        "i" => "^i([1-9]|[1-5][0-9]|6[0-3])$",
        "f" => @"^-?[0-9]{1,3}\.[0-9]{6}$",
        "*" => ".",
        _ => $"^{shape}$",
    }, word);

    [Theory]
    [InlineData("ZADDREM", "ZADD", "ZREM", 7)]
    [InlineData("ZADDREM", "ZADD", "ZREM", 1)]
    [InlineData("ZADDREM", "ZADD", "ZREM", 6000)]
    [InlineData("GEOADDREM", "GEOADD", "ZREM", 8)]
    public void The_second_half_of_a_batch_removes_what_the_first_added(
        string name, string add, string remove, int batch)
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find(name)!, Settings(batch));
        int cycle = Math.Max(2, batch), adds = (cycle + 1) / 2;
        List<string[]> commands = Rendered.Commands(workload, 3 * cycle, most: 1000);
        foreach (string[][] half in commands.Chunk(cycle))
        {
            Assert.All(half[..adds], words => Assert.Equal(add, words[0]));
            Assert.All(half[adds..], words => Assert.Equal(remove, words[0]));
            for (int index = 0; index < cycle - adds; index++)
            {
                Assert.Equal(half[index][1], half[adds + index][1]);
                Assert.Equal(half[index][^1], half[adds + index][^1]);
            }
        }

        Assert.NotEqual(commands[0][1..], commands[cycle][1..]);
    }

    [Fact]
    public void Zaddcard_adds_in_the_first_half_of_a_batch_and_counts_in_the_second()
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find("ZADDCARD")!, Settings(4));
        string[] names = [.. Rendered.Commands(workload, 8).Select(words => words[0])];
        Assert.Equal(["ZADD", "ZADD", "ZCARD", "ZCARD", "ZADD", "ZADD", "ZCARD", "ZCARD"], names);
    }

    // The numbers that the published outputs print as maxBytesWritten.
    [Theory]
    [InlineData("MSET", 4096, 128, 1, 614417)]
    [InlineData("GET", 1, 128, 1, 27)]
    [InlineData("SET", 1, 128, 1, 163)]
    [InlineData("GET", 4096, 8, 4096, 27 * 4096)]
    public void The_bytes_of_a_batch_are_those_of_the_published_outputs(string name, int batch, int value,
        int commands, long bytes)
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find(name)!, Settings(batch, 16_777_216, value));
        Assert.Equal(bytes, workload.BatchBytes(commands));
        using RequestSource source = workload.Open(0, 1, 1, 1);
        var session = default(SessionStream);
        Assert.Equal(bytes, Rendered.Bytes(source, ref session, commands).Length);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Equal_seeds_give_equal_bytes_however_they_are_asked_for(string name)
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find(name)!, Settings(batch: 100));
        byte[] Render(ulong seed, int most)
        {
            using RequestSource source = workload.Open(0, 2, 2, seed);
            var session = default(SessionStream);
            return Rendered.Bytes(source, ref session, 600, most);
        }

        byte[] whole = Render(7, int.MaxValue);
        Assert.Equal(whole, Render(7, int.MaxValue));
        Assert.Equal(whole, Render(7, 1));
        Assert.Equal(whole, Render(7, 37));
        if (name is not ("PING" or "DBSIZE")) Assert.NotEqual(whole, Render(8, int.MaxValue));
    }

    [Theory]
    [MemberData(nameof(Names))]
    public void Rendering_allocates_nothing(string name)
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find(name)!, Settings(batch: 5000, valueLength: 100));
        using RequestSource source = workload.Open(0, 1, 4, 1);
        var sessions = new SessionStream[4];
        for (int session = 0; session < 4; session++) sessions[session].Session = session;
        void Run(int rounds)
        {
            for (int round = 0; round < rounds; round++) source.Render(ref sessions[round & 3], 64);
        }

        Run(100);
        long before = GC.GetAllocatedBytesForCurrentThread();
        Run(200);
        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    [Theory]
    [InlineData("MGET", 20_000, 8)]
    [InlineData("MSET", 4096, 128)]
    [InlineData("MSET", 3, 1_000_000)]
    [InlineData("MPFADD", 4096, 1024)]
    [InlineData("SET", 1, 300_000)]
    public void Commands_longer_than_an_image_come_in_pieces_that_belong_together(string name, int batch, int value)
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find(name)!, Settings(batch, valueLength: value));
        using RequestSource source = workload.Open(0, 1, 3, 1);
        var sessions = new SessionStream[3];
        var bytes = new MemoryStream[3];
        for (int index = 0; index < 3; index++) (sessions[index].Session, bytes[index]) = (index, new MemoryStream());
        // The sessions take turns, piece by piece.
        bool anyCut = false;
        for (bool more = true; more;)
        {
            more = false;
            for (int index = 0; index < 3; index++)
            {
                if (sessions[index].Begun == 2) continue;
                RequestChunk chunk = source.Render(ref sessions[index], 1);
                bytes[index].Write(chunk.Bytes);
                anyCut |= chunk.IsCut;
                more = true;
            }
        }

        Assert.True(anyCut);
        for (int index = 0; index < 3; index++)
        {
            List<string[]> commands = Rendered.Parse(bytes[index].ToArray());
            Assert.Equal(2, commands.Count);
            int perElement = name == "MSET" ? 2 : 1, head = name is "MPFADD" or "SET" ? 2 : 1;
            Assert.All(commands, words => Assert.Equal(head + (batch * perElement), words.Length));
            if (name != "MGET") Assert.All(commands, words => Assert.Matches($"^[A-Za-z0-9]{{{value}}}$", words[^1]));
        }
    }

    [Fact]
    public void The_value_is_the_key_where_its_length_is_0_and_the_key_takes_the_digits_of_the_database_where_its_is()
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find("MSET")!, Settings(100, 1024, 0, 0));
        string[] words = Rendered.Commands(workload, 1)[0];
        for (int index = 1; index < words.Length; index += 2)
        {
            Assert.Equal(4, words[index].Length);
            Assert.Equal(words[index], words[index + 1]);
        }
    }

    [Fact]
    public void Keys_are_drawn_from_all_of_the_database_also_from_2_to_the_40()
    {
        ShapedWorkload workload = GarnetOps.Throughput(GarnetOps.Find("GET")!, Settings(1, 1L << 40, 8, 8));
        long[] keys = [.. Rendered.Commands(workload, 1000).Select(words => long.Parse(words[1]))];
        Assert.True(keys.Distinct().Count() > 990);
        Assert.Contains(keys, key => key > 1L << 39);
    }

    [Fact]
    public void An_online_mix_is_exact_in_every_hundred_of_a_session_and_shuffled()
    {
        OpSettings settings = OpSettings.Garnet(1024, 2, 8, online: true);
        ShapedWorkload workload = GarnetOps.OnlineMix(
            [(GarnetOps.Find("get")!, 80), (GarnetOps.Find("SET")!, 19), (GarnetOps.Find("Zcard")!, 1)], settings);
        using RequestSource source = workload.Open(0, 1, 2, 3);
        var sessions = new SessionStream[2];
        sessions[1].Session = 1;
        var names = new List<string>[] { [], [] };
        for (int round = 0; round < 300; round++)
        {
            int index = round % 2;
            names[index].AddRange(Rendered.Parse(Rendered.Bytes(source, ref sessions[index], 1 + (round % 3)))
                .Select(words => words[0]));
        }

        Assert.All(names, list => Assert.All(list.Chunk(100).Where(hundred => hundred.Length == 100), hundred =>
        {
            Assert.Equal(80, hundred.Count(name => name == "GET"));
            Assert.Equal(19, hundred.Count(name => name == "SET"));
        }));
        Assert.NotEqual(names[0].Take(100), names[0].Skip(100).Take(100));
        Assert.Equal("XXX", Rendered.Commands(GarnetOps.OnlineMix([(GarnetOps.Find("GET")!, 100)],
            OpSettings.Garnet(1, 4, 8, online: true)), 1)[0][1][..3]);
    }

    [Fact]
    public void Online_sorted_sets_expire_after_each_add_in_one_unit()
    {
        OpSettings settings = OpSettings.Garnet(1024, 4, 8, ttlSeconds: 9, sortedSets: 10, online: true);
        ShapedWorkload workload = GarnetOps.OnlineMix([(GarnetOps.Find("ZADD")!, 100)], settings);
        List<string[]> commands = Rendered.Commands(workload, 20, most: 1);
        Assert.All(commands.Chunk(2), pair =>
        {
            Assert.Matches("^sskey[0-9]$", pair[0][1]);
            Assert.Equal(["ZADD", pair[0][1], "1.0", pair[0][3]], pair[0]);
            Assert.Equal(["EXPIRE", pair[0][1], "9"], pair[1]);
        });
        Assert.Equal([true, false], workload.Kinds.Select(kind => kind.Continues));
    }
}
