using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;
using Kv.Tests.Storage;
using static Kv.Tests.Rdb.Payloads;

namespace Kv.Tests.Rdb;

/// <summary>RDB files that nobody vouches for: every cut, every bit, every size of the buffer.</summary>
public class RdbFileTests
{
    [Theory]
    [InlineData(16)]
    [InlineData(17)]
    [InlineData(1000)]
    [InlineData(8 << 20)]
    public void Whatever_is_read_at_once_the_data_is_the_same(int bufferBytes)
    {
        using var test = new TestStore();
        byte[] file = Write(test);
        var sink = Read(test, file, bufferBytes: bufferBytes);
        Assert.Equal(Keys, sink.Keys);
        Assert.Equal("library text", sink.Library);
    }

    [Fact]
    public void Every_cut_is_found()
    {
        using var test = new TestStore();
        byte[] file = Write(test);
        for (int length = 0; length < file.Length; length++)
        {
            byte[] cut = file[..length];
            Assert.ThrowsAny<RdbFileException>(() => Read(test, cut, bufferBytes: 64));
        }
    }

    [Fact]
    public void Every_bit_that_is_turned_is_found_and_without_the_checksum_nothing_breaks()
    {
        using var test = new TestStore();
        byte[] file = Write(test);
        for (int bit = 0; bit < file.Length * 8; bit++)
        {
            byte[] damaged = [.. file];
            damaged[bit / 8] ^= (byte)(1 << (bit % 8));
            // A checksum of 0 is none.
            Assert.ThrowsAny<RdbFileException>(() => Read(test, damaged));
            try
            {
                Read(test, damaged, isChecked: false);
            }
            catch (RdbFileException)
            {
                // As it should be; others it must not be.
            }
        }
    }

    [Theory]
    [InlineData("", "does not begin as an RDB file")]
    [InlineData("REDIS", "does not begin as an RDB file")]
    [InlineData("REDISxxxx", "does not begin as an RDB file")]
    [InlineData("VALKEY080", "does not begin as an RDB file")]
    [InlineData("REDIS0013", "version 13 of the format, and 1 to 12 can be read")]
    [InlineData("REDIS0000", "version 0 of the format")]
    [InlineData("REDIS0010", "ends at byte 9, before its end mark")]
    [InlineData("REDIS0010\u00F7", "something of a module")]
    [InlineData("REDIS0010\u0007\u0001k", "something of a module")]
    [InlineData("REDIS0010\u00FE\u0010", "start with --databases 17")]
    [InlineData("REDIS0010\u0000\u0001k\u0001v\u0000\u0001k\u0001w\u00FF00000000", "has the key 'k' again")]
    public void What_cannot_be_taken_is_told_with_its_place(string text, string error)
    {
        using var test = new TestStore();
        var exception = Assert.ThrowsAny<RdbFileException>(() => Read(test, Encoding.Latin1.GetBytes(text)));
        Assert.Contains(error, exception.Message, StringComparison.Ordinal);
    }

    // Files of versions before the checksum, with seconds for times.
    [Fact]
    public void A_file_of_old_is_read()
    {
        using var test = new TestStore();
        var sink = Read(test, Encoding.Latin1.GetBytes(
            "REDIS0004\u00FE\u0000\u00FD\u00FF\u00FF\u00FF\u007F\u0000\u0001k\u0001v\u00FF"));
        Assert.Equal([$"k@{1000L * int.MaxValue}"], sink.Keys);
    }

    private static readonly string[] Keys =
        ["k1@-1", "k2@1893456000000", "k3@-1", "k4@-1", "k5@-1"];

    private static byte[] Write(TestStore test)
    {
        using var stream = new MemoryStream();
        using var writer = new RdbFileWriter(test.Store, stream, compresses: true, isSummed: true);
        writer.Begin(hasFieldExpiries: false);
        writer.WriteAux("redis-ver", "7.2.0");
        writer.WriteLibrary("library text"u8);
        writer.BeginDatabase(0, 5, 1);
        test.Set("k1", "v");
        Assert.Equal(StoreStatus.Ok, test.SetWithExpiry("k2", new string('x', 500), 1893456000000));
        test.Set("k3", "12345");
        // A list of nodes, and a set of strings.
        byte[][] elements = [.. Enumerable.Range(0, 300).Select(i => Plain($"element {i}"))];
        Assert.Equal(RdbStatus.Ok, Restore(test, "k4", Concat([1], ReaderStepTests.Count(300), Concat(elements))));
        Assert.Equal(RdbStatus.Ok, Restore(test, "k5", Concat([2, 2], Plain("a"), Plain("b"))));
        var visit = new WriteKeys { Writer = writer };
        ulong cursor = 0;
        // Ends: the cursor comes round.
        do cursor = test.Session.Scan(cursor, ref visit);
        while (cursor != 0);
        writer.End();
        return stream.ToArray();
    }

    private static Sink Read(TestStore test, byte[] file, bool isChecked = true, int bufferBytes = 8 << 20)
    {
        using var stream = new MemoryStream(file);
        using var reader = new RdbFileReader(test.Store, stream, isChecked, bufferBytes);
        var sink = new Sink();
        reader.Read(sink);
        return sink;
    }

    private struct WriteKeys : IRecordVisit
    {
        public RdbFileWriter Writer;

        public readonly void Visit(ReadOnlySpan<byte> key, in ValueView value) =>
            Writer.Keys.Write(key, value, new RdbUse(5, 100));
    }

    private sealed class Sink : IRdbSink
    {
        private readonly SortedSet<string> _keys = new(StringComparer.Ordinal);

        public IEnumerable<string> Keys => _keys;

        public string Library { get; private set; } = "";

        public void Note(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
        {
        }

        public void AddLibrary(ReadOnlySpan<byte> text) => Library = Encoding.ASCII.GetString(text);

        public void BeginDatabase(int number)
        {
        }

        public void Expect(long keys)
        {
        }

        public bool TryAdd(ReadOnlySpan<byte> key, ref RdbValue value, long expiryMs, RdbUse use) =>
            _keys.Add($"{Encoding.Latin1.GetString(key)}@{expiryMs}");
    }
}
