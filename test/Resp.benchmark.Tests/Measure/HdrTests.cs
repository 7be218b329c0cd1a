using System.Buffers.Binary;
using System.Globalization;
using System.IO.Compression;
using System.Text;
using Kv.Tests.Harness;
using RespBenchmark.Measure;

namespace RespBenchmark.Tests.Measure;

/// <summary>Goldens/hdr: values.txt (ns and counts) was recorded by hdr-histogram-js 3.0.1 (1 to 10^11, 3 digits),
/// which wrote histogram.txt; the Java HdrHistogram 2.1.11 read that and wrote histogram.hgrm.</summary>
public class HdrTests
{
    private static readonly string Folder = Path.Combine(AppContext.BaseDirectory, "Goldens", "hdr");

    [Fact]
    public void Counts_and_their_encoding_are_byte_for_byte_those_of_another_implementation()
    {
        byte[] theirs = Convert.FromBase64String(File.ReadAllText(Path.Combine(Folder, "histogram.txt")).Trim());
        using var zlib = new ZLibStream(new MemoryStream(theirs, 8, theirs.Length - 8), CompressionMode.Decompress);
        var plain = new MemoryStream();
        zlib.CopyTo(plain);

        // But for two fields that no reader needs, where theirs differs from the Java one too: offset and ratio.
        byte[] expected = plain.ToArray();
        BinaryPrimitives.WriteInt32BigEndian(expected.AsSpan(8), 0);
        BinaryPrimitives.WriteDoubleBigEndian(expected.AsSpan(32), 1);
        Assert.Equal(expected, HdrEncoding.Encode(Recorded()));
        byte[] ours = HdrEncoding.Compress(Recorded());
        Assert.Equal(theirs.AsSpan(0, 4), ours.AsSpan(0, 4));
        Assert.Equal(ours.Length - 8, BinaryPrimitives.ReadInt32BigEndian(ours.AsSpan(4)));
        Assert.StartsWith("HISTFA", HdrEncoding.ToText(Recorded()), StringComparison.Ordinal);
    }

    [Fact]
    public void What_another_implementation_wrote_is_read_with_the_same_counts()
    {
        var read = HdrEncoding.FromText(File.ReadAllText(Path.Combine(Folder, "histogram.txt")).Trim());
        var recorded = Recorded();

        Assert.Equal(recorded.Counts, read.Counts);
        Assert.Equal(recorded.Count, read.Count);
        Assert.Equal(recorded.Mean, read.Mean, recorded.Mean / 1000);
        Assert.Equal(Histogram.HighestOf(Histogram.IndexOf(recorded.Max)), read.Max);
    }

    [Fact]
    public void The_percentile_text_is_the_one_that_another_implementation_writes()
    {
        using var writer = new StringWriter();
        PercentileText.Write(writer, Recorded());
        string[] ours = writer.ToString().Split('\n'),
            theirs = File.ReadAllText(Path.Combine(Folder, "histogram.hgrm")).Split('\n');

        Assert.Equal(theirs.Length, ours.Length);
        for (int line = 0; line < theirs.Length; line++)
        {
            // Ours are the exact mean and maximum, theirs those of the counters.
            if (theirs[line].StartsWith("#[Mean", StringComparison.Ordinal)
                || theirs[line].StartsWith("#[Max", StringComparison.Ordinal))
            {
                Assert.Equal(theirs[line].Length, ours[line].Length);
                Assert.All(Numbers(theirs[line]).Zip(Numbers(ours[line])),
                    pair => Assert.Equal(pair.First, pair.Second, pair.First / 1000));
                continue;
            }

            Assert.Equal(theirs[line], ours[line]);
        }
    }

    [Fact]
    public void A_log_is_read_by_the_Java_tool_and_gives_our_percentile_text()
    {
        const string Jar = "/usr/share/java/hdrhistogram.jar";
        if (!File.Exists(Jar))
            Requires.Missing($"no {Jar} (Debian: apt-get install libhdrhistogram-java default-jre-headless)");
        string java = Requires.Tool("java");
        string folder = Directory.CreateTempSubdirectory("hlog").FullName;
        try
        {
            string path = Path.Combine(folder, "run.hlog");
            var all = new Histogram();
            using (var file = File.Create(path))
            using (var log = new HistogramLog(file, DateTimeOffset.UnixEpoch.AddSeconds(1_700_000_000),
                "Resp.benchmark"))
            {
                var random = Seed.NewRandom(2);
                for (int second = 0; second < 5; second++)
                {
                    var interval = new Histogram();
                    for (int i = 0; i < 2000; i++) interval.Record((long)Math.Exp(random.NextDouble() * 24));
                    log.Write("GET", TimeSpan.FromSeconds(second), TimeSpan.FromSeconds(1), interval);
                    log.Write("SET", TimeSpan.FromSeconds(second), TimeSpan.FromSeconds(1), Recorded());
                    all.Add(interval);
                }
            }

            string output = Path.Combine(folder, "out");
            var run = ChildProcess.Run(java, ["-cp", Jar, "org.HdrHistogram.HistogramLogProcessor",
                "-i", path, "-tag", "GET", "-o", output, "-outputValueUnitRatio", "1000000"], timeoutMs: 180_000);
            Assert.True(run.ExitCode == 0 && File.Exists(output + ".hgrm"), run.Output + run.Errors);
            using var text = new StringWriter();
            PercentileText.Write(text, all);
            string[] ours = Rows(text.ToString()), theirs = Rows(File.ReadAllText(output + ".hgrm"));
            Assert.True(ours.SequenceEqual(theirs),
                $"{Seed.Hint}\nours:\n{text}\ntheirs:\n{string.Join('\n', theirs)}");
            Assert.True(ours.Length > 50);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }

        static string[] Rows(string text) =>
            [.. text.Split('\n').Where(line => line.Length > 0 && !line.StartsWith('#'))];
    }

    [Fact]
    public void A_log_names_its_format_its_columns_and_its_tags()
    {
        using var stream = new MemoryStream();
        using (var log = new HistogramLog(stream, DateTimeOffset.UnixEpoch.AddMilliseconds(1_700_000_000_250),
            "Resp.benchmark 1"))
        {
            var histogram = new Histogram();
            histogram.Record(1_234_567, 3);
            log.Write("GET, größer", TimeSpan.FromSeconds(1.5), TimeSpan.FromSeconds(0.25), histogram);
        }

        Assert.Equal((byte)'#', stream.ToArray()[0]);
        string[] lines = Encoding.UTF8.GetString(stream.ToArray()).Split('\n');
        Assert.Equal("#[Histogram log format version 1.3]", lines[1]);
        Assert.Equal("#[StartTime: 1700000000.250 (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]", lines[2]);
        Assert.Equal("#[BaseTime: 1700000000.250 (seconds since epoch)]", lines[3]);
        Assert.Equal("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"",
            lines[4]);
        Assert.StartsWith("Tag=GET__größer,1.500,0.250,1.235,HISTFA", lines[5], StringComparison.Ordinal);
        Assert.Equal("", lines[6]);
    }

    [Fact]
    public void A_cell_leaves_a_log_and_a_percentile_text_of_all_its_intervals()
    {
        string folder = Path.Combine(Directory.CreateTempSubdirectory("hdr").FullName, "made");
        try
        {
            Histogram first = new(), second = new();
            first.Record(1_000_000, 3);
            second.Record(9_000_000, 1);
            using (var files = new HdrFiles(folder, "GET, conns 16/depth 1", DateTimeOffset.UnixEpoch,
                "Resp.benchmark"))
            {
                files.Add("GET", TimeSpan.Zero, TimeSpan.FromSeconds(1), first);
                files.Add("GET", TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(1), second);
            }

            Assert.Equal(["GET-conns-16-depth-1.hgrm", "GET-conns-16-depth-1.hlog"],
                Directory.GetFiles(folder).Select(path => Path.GetFileName(path)).Order(StringComparer.Ordinal));
            Assert.Equal(2, File.ReadLines(Path.Combine(folder, "GET-conns-16-depth-1.hlog"))
                .Count(line => line.StartsWith("Tag=GET,", StringComparison.Ordinal)));
            Assert.Contains("Total count    =            4]",
                File.ReadAllText(Path.Combine(folder, "GET-conns-16-depth-1.hgrm")), StringComparison.Ordinal);
        }
        finally
        {
            Directory.Delete(Path.GetDirectoryName(folder)!, recursive: true);
        }
    }

    [Fact]
    public void Counts_of_every_size_survive_the_encoding()
    {
        var histogram = new Histogram();
        for (int bit = 0; bit < 56; bit++)
        {
            histogram.Record(bit, 1L << bit);
            histogram.Record(3000 + 40 * bit, (1L << bit) - 1);
        }

        Assert.Equal(histogram.Counts, HdrEncoding.FromText(HdrEncoding.ToText(histogram)).Counts);
        Assert.Equal(0, HdrEncoding.FromText(HdrEncoding.ToText(new Histogram())).Count);
    }

    [Fact]
    public void Damaged_text_is_refused_by_a_FormatException_and_nothing_else()
    {
        byte[] whole = HdrEncoding.Compress(Recorded()), plain = HdrEncoding.Encode(Recorded());
        var random = Seed.NewRandom(3);
        for (int round = 0; round < 3000; round++)
        {
            byte[] damaged = [.. round % 2 == 0 ? whole : plain];
            damaged[random.Next(damaged.Length)] ^= (byte)(1 << random.Next(8));
            var cut = damaged.AsSpan(0, random.Next(4) == 0 ? random.Next(damaged.Length) : damaged.Length).ToArray();
            try
            {
                _ = round % 2 == 0 ? HdrEncoding.Decompress(cut) : HdrEncoding.Decode(cut);
            }
            catch (FormatException)
            {
            }
            catch (Exception e)
            {
                Assert.Fail($"{e}\n{Seed.Hint}");
            }
        }

        Assert.Throws<FormatException>(() => HdrEncoding.FromText("not base64!"));
        Assert.Throws<FormatException>(() => HdrEncoding.FromText(""));
    }

    [Fact]
    public void Percentiles_are_within_a_thousandth_of_the_sorted_samples()
    {
        var random = Seed.NewRandom(4);
        foreach (double top in new[] { 8.0, 14, 20, 25 })
        {
            long[] values = [.. Enumerable.Range(0, 20_000).Select(_ => (long)Math.Exp(random.NextDouble() * top))];
            var histogram = new Histogram();
            foreach (long value in values) histogram.Record(value);
            Array.Sort(values);
            foreach (double share in new[] { 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1 })
            {
                long exact = values[(int)Math.Ceiling(share * values.Length) - 1], found = histogram.ValueAt(share);
                Assert.True(found >= exact && (found - exact) * 1000 <= exact,
                    $"{share}: {found}, not {exact}; {Seed.Hint}");
            }

            Assert.Equal((values[0], values[^1]), (histogram.Min, histogram.Max));
        }
    }

    private static Histogram Recorded()
    {
        var histogram = new Histogram();
        foreach (string line in File.ReadLines(Path.Combine(Folder, "values.txt")))
        {
            string[] words = line.Split(' ');
            histogram.Record(long.Parse(words[0], CultureInfo.InvariantCulture),
                long.Parse(words[1], CultureInfo.InvariantCulture));
        }

        return histogram;
    }

    private static IEnumerable<double> Numbers(string line) =>
        line.Split(' ', ',', ']', '=')
            .Select(word => double.TryParse(word, CultureInfo.InvariantCulture, out double number) ? number : -1)
            .Where(number => number >= 0);
}
