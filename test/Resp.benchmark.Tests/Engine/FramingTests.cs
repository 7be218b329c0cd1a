using System.Text;
using RespBenchmark.Engine;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Engine;

/// <summary>The framer alone: bytes in, counts out, wherever they are cut.</summary>
public class FramingTests
{
    // Each reply once and three times in a row, so that the short cut for equal replies is taken and left.
    private static readonly (string Reply, ReplyRule Type)[] Replies =
    [
        ("+OK\r\n", ReplyRule.Status), ("+\r\n", ReplyRule.Status), (":1\r\n", ReplyRule.Integer),
        (":-12345678901\r\n", ReplyRule.Integer),
        ("$0\r\n\r\n", ReplyRule.Bulk), ("$8\r\nab\r\n$-1\r\n"[..12] + "\r\n", ReplyRule.Bulk),
        ("$11\r\n$3\r\n+OK\r\n:1\r\n", ReplyRule.Bulk),
        ("$-1\r\n", ReplyRule.Nil), ("*-1\r\n", ReplyRule.Nil), ("_\r\n", ReplyRule.Nil), ("*0\r\n", ReplyRule.Array),
        ("*3\r\n$1\r\na\r\n*2\r\n:1\r\n-ERR inside\r\n$-1\r\n", ReplyRule.Array), ("~1\r\n,1.5\r\n", ReplyRule.Array),
        ("%1\r\n+k\r\n*1\r\n#t\r\n", ReplyRule.Map), (",inf\r\n", ReplyRule.Double), ("#f\r\n", ReplyRule.Boolean),
        ("(3492890328409238509324850943850943825024385\r\n", ReplyRule.BigNumber),
        ("=7\r\ntxt:abc\r\n", ReplyRule.Bulk),
        ("|1\r\n+a\r\n*1\r\n:1\r\n:7\r\n", ReplyRule.Integer),
        (">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n", ReplyRule.Status),
        ("*2\r\n|1\r\n+ttl\r\n:1\r\n+x\r\n+y\r\n", ReplyRule.Array), (">0\r\n|0\r\n:0\r\n", ReplyRule.Integer),
        ("-ERR no such thing\r\n", ReplyRule.None), ("!11\r\nOOM no more\r\n", ReplyRule.None),
        ("-LOADING\r\n", ReplyRule.None),
    ];

    [Fact]
    public void Counts_the_same_wherever_the_replies_are_cut()
    {
        var all = new List<(string Reply, ReplyRule Type)>();
        foreach ((string Reply, ReplyRule Type) one in Replies) all.AddRange([one, one, one]);
        byte[] wire = Encoding.Latin1.GetBytes(string.Concat(all.Select(one => one.Reply)));
        for (int piece = 1; piece <= wire.Length; piece = piece < 40 ? piece + 1 : piece * 3)
        {
            var framing = new Framing([.. all.Select(one => one.Type)]);
            framing.Feed(wire, piece);
            framing.Expect(all, $"pieces of {piece}");
        }
    }

    [Fact]
    public void Counts_the_same_with_any_one_cut()
    {
        byte[] wire = Encoding.Latin1.GetBytes(string.Concat(Replies.Select(one => one.Reply)));
        for (int cut = 1; cut < wire.Length; cut++)
        {
            var framing = new Framing([.. Replies.Select(one => one.Type)]);
            framing.FeedCut(wire, cut);
            framing.Expect(Replies, $"cut at {cut}");
        }
    }

    [Theory]
    [InlineData("+OK\r\n", 4)]         // Bulk
    [InlineData(":1\r\n", 4)]
    [InlineData("$1\r\na\r\n", 1)]     // Status
    [InlineData("$-1\r\n", 4)]
    [InlineData("*0\r\n", 2)]          // Integer
    public void A_reply_of_a_type_that_its_command_never_gives_is_a_mismatch_and_no_operation(string reply, int rule)
    {
        var framing = new Framing([(ReplyRule)rule, (ReplyRule)rule, (ReplyRule)rule]);
        framing.Feed(Encoding.Latin1.GetBytes(reply + reply + reply), 1000);
        Assert.Equal((3L, 3L, 0L), (framing.Recorder.Mismatches, framing.Recorder.Commands, framing.Recorder.Ops));
    }

    [Theory]
    [InlineData("HTTP/1.1 400\r\n", 0)]
    [InlineData("+OK\r\nx", 5)]
    [InlineData("$3\r\nabcd\r\n", 7)]
    [InlineData("$-2\r\n", 0)]
    [InlineData("$3x\r\nabc\r\n", 0)]
    [InlineData(":12a\r\n", 0)]
    [InlineData("*-2\r\n", 0)]
    [InlineData("+OK\rx", 0)]
    [InlineData("$99999999999\r\n", 0)]
    [InlineData("_x\r\n", 0)]
    [InlineData("#x\r\n", 0)]
    public void What_is_no_reply_is_reported_with_its_place_and_bytes(string wire, int at)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(wire);
        foreach (int piece in (int[])[1, 2, 3, 1000])
        {
            var framing = new Framing([ReplyRule.Any, ReplyRule.Any]);
            Assert.True(framing.Feed(bytes, piece) < 0, $"pieces of {piece}");
            Assert.StartsWith($"no RESP at byte {at} of the connection: {Convert.ToHexString(bytes.AsSpan(at, 1))}",
                framing.Session.Breakage);
        }
    }

    [Fact]
    public void A_reply_that_nobody_asked_for_is_no_RESP_conversation()
    {
        var framing = new Framing([ReplyRule.Any]);
        Assert.True(framing.Feed("+OK\r\n+OK\r\n"u8.ToArray(), 1000) < 0);
        Assert.Equal(1, framing.Recorder.Commands);
    }

    [Fact]
    public void Errors_are_counted_by_their_first_word_and_the_sixteenth_class_takes_the_rest()
    {
        var wire = new StringBuilder();
        for (int word = 0; word < 40; word++) wire.Append($"-E{word} text {word}\r\n-E{word} other\r\n");
        var framing = new Framing([.. Enumerable.Repeat(ReplyRule.Any, 80)]);
        framing.Feed(Encoding.ASCII.GetBytes(wire.ToString()), 17);
        var classes = ErrorClasses.Merge([framing.Recorder.ErrorClasses]);
        Assert.Equal(16, classes.Count);
        Assert.Equal(80, classes.Sum(one => one.Count));
        Assert.Equal(new("(others)", 50, "E15 text 15"), classes[0]);
        Assert.Contains(new("E3", 2, "E3 text 3"), classes);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(4096)]
    public void Verification_sees_the_whole_body_however_it_comes(int piece)
    {
        var framing = new Framing(FixedWorkload.TrackedGets, verifyShare: 1);
        framing.Session.Inflight.Add(4, 0, 1, 1);
        framing.Session.Inflight.AddKeys([1, 2, 3, 4]);
        framing.Feed("$8\r\n00000001\r\n$8\r\n00000009\r\n$-1\r\n$8\r\n00000004\r\n"u8.ToArray(), piece);
        Assert.Equal((4L, 1L, 1L), (framing.Recorder.Commands, framing.Recorder.Wrong, framing.Recorder.Nils));
    }

    [Fact]
    public void A_body_of_gigabytes_is_passed_over_without_being_kept()
    {
        var framing = new Framing([ReplyRule.Bulk]);
        framing.Feed("$2000000000\r\n"u8.ToArray(), 100);
        byte[] part = new byte[100_000_000];
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int index = 0; index < 20; index++) framing.FeedOnce(part, part.Length - ReplyFramer.Slack, index * 3);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 4096);
        Assert.Equal(0, framing.Recorder.Commands);
    }

    /// <summary>A framer and one session with so many commands outstanding.</summary>
    private sealed class Framing
    {
        private readonly ReplyFramer _framer;

        public Framing(ReplyRule[] rules) : this(
            FixedWorkload.InTurn([.. rules.Select((rule, index) => (new CommandKind($"K{index}", rule), "x"))]), 0)
        {
            // Kinds of equal rules are one kind, or no shape would ever be met again.
            for (int index = 0; index < rules.Length; index++)
                Session.Inflight.Add(1, (byte)Array.IndexOf(rules, rules[index]), 1, 1);
        }

        public Framing(FixedWorkload workload, double verifyShare)
        {
            var plan = new CellPlan { Target = new(), Workload = workload, VerifyShare = verifyShare };
            Recorder = new Recorder(workload.Kinds, openLoop: false);
            Session = new Session(0, null, plan);
            _framer = new ReplyFramer(workload, Recorder, latency: true, verifyShare, 1);
        }

        public Recorder Recorder { get; }

        public Session Session { get; }

        public int FeedOnce(byte[] buffer, int count, long now)
        {
            int used = _framer.Read(Session, buffer.AsSpan(0, count), now);
            if (used >= 0) Session.BytesParsed += used;
            return used;
        }

        public int Feed(ReadOnlySpan<byte> wire, int piece)
        {
            while (!wire.IsEmpty)
            {
                int count = Math.Min(piece, wire.Length);
                if (Part(wire[..count]) < 0) return -1;
                wire = wire[count..];
            }

            return 0;
        }

        public void FeedCut(ReadOnlySpan<byte> wire, int cut)
        {
            Assert.True(Part(wire[..cut]) >= 0);
            Assert.True(Part(wire[cut..]) >= 0);
        }

        public void Expect(IReadOnlyList<(string Reply, ReplyRule Type)> all, string what)
        {
            Assert.Null(Session.Breakage);
            int errors = all.Count(one => one.Type == ReplyRule.None);
            Assert.Equal((what, (long)all.Count, (long)all.Count - errors, errors,
                all.Count(one => one.Type == ReplyRule.Nil), 0L),
                (what, Recorder.Commands, Recorder.Ops, Recorder.Errors, Recorder.Nils, Recorder.Mismatches));
            Assert.Equal((0, 0L, false),
                (Session.Inflight.Commands, Session.ExpectedBytes + (all.Count * 64L), Session.Frame.Inside));
        }

        private int Part(ReadOnlySpan<byte> part)
        {
            byte[] buffer = new byte[Session.CarryCount + part.Length + ReplyFramer.Slack];
            buffer.AsSpan().Fill((byte)'?');        // what lies behind must not matter
            int carried = Session.TakeCarry(buffer);
            part.CopyTo(buffer.AsSpan(carried));
            int total = carried + part.Length, used = FeedOnce(buffer, total, 5);
            if (used >= 0 && used < total) Session.KeepCarry(buffer.AsSpan(used, total - used));
            return used;
        }
    }
}
