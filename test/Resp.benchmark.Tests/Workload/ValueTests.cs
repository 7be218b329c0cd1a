using System.Text;
using Kv.Tests.Harness;
using RespBenchmark.CommandLine;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

public class ValueTests
{
    [Theory]
    [InlineData("64", 64, 64)]
    [InlineData("0", 0, 0)]
    [InlineData("32-1024", 32, 1024)]
    [InlineData("lognormal:5,1", 1, 16 * 1024 * 1024)]
    public void Lengths_stay_within_what_was_asked_for(string text, long least, long most)
    {
        Sizes sizes = Sizes.Parse(text);
        var generator = new Xoshiro256(Seed.Value);
        double sum = 0;
        for (int draw = 0; draw < 20_000; draw++)
        {
            long length = sizes.Next(ref generator);
            Assert.InRange(length, least, most);
            sum += length;
        }

        Assert.Equal(most, sizes.Max);
        Assert.InRange(sum / 20_000, sizes.Mean * 0.9, Math.Max(sizes.Mean * 1.1, sizes.Mean));
    }

    [Fact]
    public void Weighted_lengths_come_in_their_shares()
    {
        Sizes sizes = Sizes.Parse("8:50,1024:30,100:20,7:0");
        var generator = new Xoshiro256(Seed.Value);
        var seen = new long[3];
        for (int draw = 0; draw < 100_000; draw++) seen[Array.IndexOf([8L, 1024, 100], sizes.Next(ref generator))]++;
        DistributionTests.AssertFits([0.5, 0.3, 0.2], seen, "weights");
    }

    [Theory]
    [InlineData("x")]
    [InlineData("10-5")]
    [InlineData("8:0")]
    [InlineData("8:1,9")]
    [InlineData("lognormal:a,b")]
    [InlineData("2000000000")]
    public void What_is_no_length_is_refused_by_name(string text) =>
        Assert.Contains($"'{text}'", Assert.Throws<UsageException>(() => ValueSpec.Parse(text)).Message);

    [Fact]
    public void Compressible_values_shrink_about_as_asked()
    {
        foreach (double ratio in (double[])[1, 2, 8])
        {
            var content = new byte[1024 * 1024];
            TextPool.Letters(ratio).CopyTo(0, content);
            using var packed = new MemoryStream();
            using (var deflate = new System.IO.Compression.DeflateStream(
                packed, System.IO.Compression.CompressionLevel.Fastest, true)) deflate.Write(content);
            // Letters and digits alone pack to 6/8.
            Assert.InRange(content.Length / (double)packed.Length, ratio * 0.9, ratio * 1.9);
        }
    }

    [Fact]
    public void A_pool_goes_round_at_its_end()
    {
        TextPool pool = TextPool.Letters();
        var whole = new byte[TextPool.Bytes];
        pool.CopyTo(0, whole);
        var around = new byte[TextPool.Bytes + 100];
        pool.CopyTo(TextPool.Bytes - 50, around);
        Assert.Equal(whole[^50..], around[..50]);
        Assert.Equal(whole[..1000], around[50..1050]);
        Assert.Equal(whole[..50], around[^50..]);
    }

    [Fact]
    public void A_verifiable_value_is_known_for_its_key_only_and_no_byte_of_it_may_differ()
    {
        var verifier = new ValueVerifier(9);
        foreach (int length in (int[])[40, 41, 48, 100, 5000])
        {
            var value = new byte[length];
            verifier.Write(77, 5, length, 0, value);
            Assert.True(verifier.Check(77, value));
            Assert.False(verifier.Check(78, value));
            Assert.False(new ValueVerifier(10).Check(77, value));
            Assert.False(verifier.Check(77, value.AsSpan(0, length - 1)));
            for (int at = 0; at < length; at++)
            {
                value[at] ^= 1;
                Assert.False(verifier.Check(77, value), $"byte {at} of {length}");
                value[at] ^= 1;
            }
        }
    }

    [Fact]
    public void A_verifiable_value_is_the_same_in_pieces()
    {
        var verifier = new ValueVerifier(9);
        var value = new byte[300];
        verifier.Write(1, 2, 300, 0, value);
        for (int cut = 0; cut <= 300; cut++)
        {
            var pieces = new byte[300];
            verifier.Write(1, 2, 300, 0, pieces.AsSpan(0, cut));
            verifier.Write(1, 2, 300, cut, pieces.AsSpan(cut));
            Assert.Equal(value, pieces);
        }
    }

    [Fact]
    public void Rendered_verifiable_values_check_and_versions_differ()
    {
        OpSettings settings = OpSettings.Garnet(50, 8, 8) with { Value = ValueSpec.Parse("40-300000", "verify") };
        List<string[]> commands = Rendered.Commands(GarnetOps.Throughput(GarnetOps.Find("SET")!, settings), 60);
        Assert.All(commands, words =>
            Assert.True(settings.Value.Verifier!.Check(long.Parse(words[1].TrimStart('X')),
                Encoding.Latin1.GetBytes(words[2]))));
        Assert.True(commands.Select(words => words[2][16..24]).Distinct().Count() > 50);
    }

    [Fact]
    public void Lines_of_a_file_are_values()
    {
        string path = Path.GetTempFileName();
        try
        {
            File.WriteAllText(path, "one\r\ntwo words\nthree\n");
            OpSettings settings = OpSettings.Garnet(50, 8, 8) with { Value = ValueSpec.Parse("@" + path) };
            var seen = Rendered.Commands(GarnetOps.Throughput(GarnetOps.Find("SET")!, settings), 200)
                .Select(words => words[2]).ToHashSet();
            Assert.Equal(["one", "three", "two words"], seen.Order());
        }
        finally
        {
            File.Delete(path);
        }
    }

    [Theory]
    [InlineData("user:%d", 100, "^user:[0-9]{1,2}$")]
    [InlineData("user:%06d:x", 100, "^user:0000[0-9]{2}:x$")]
    [InlineData("rb", 100, "^key:0{10}[0-9]{2}$")]
    [InlineData("tair", 100, "^key_0{8}[0-9]{2}$")]
    [InlineData("memtier", 100, "^memtier-[0-9]{1,2}$")]
    [InlineData("garnet", 100, "^X{6,7}[0-9]{1,2}$")]
    [InlineData("k%02d", 100_000, "^k[0-9]{2,5}$")]
    [InlineData("%d", 10, "^[0-9]$")]
    public void Keys_are_named_by_their_format(string text, long keys, string pattern)
    {
        KeyFormat format = KeyFormat.Parse(text);
        var settings = new OpSettings { Keys = new KeySpace(keys, format, Distribution.Uniform),
            Value = ValueSpec.Letters(8) };
        string[] seen = [.. Rendered.Commands(GarnetOps.Throughput(GarnetOps.Find("GET")!, settings), 300)
            .Select(words => words[1])];
        Assert.All(seen, key => Assert.Matches(pattern, key));
        Assert.Subset(Enumerable.Range(0, (int)keys).Select(number => format.NameOf(number)).ToHashSet(),
            seen.ToHashSet());
    }
}
