using System.Globalization;
using System.Text;
using Kv.Protocol;
using Kv.Tests.Harness;

namespace Kv.Tests.Protocol;

/// <summary>Asks the reference, where it is installed, what our parsers must say.</summary>
public class AgainstRedisTests
{
    private const int Batch = 100;

    [Fact]
    public void Protocol_errors_have_the_texts_of_the_reference()
    {
        using RedisServer redis = RedisServer.Start();
        string flood = new('1', 70_000);
        foreach (string wire in (string[])
        [
            "*1\r\n:4\r\n", "*1\r\n*1\r\n", "*1\r\n+PING\r\n", "*1\r\n\rPING\r\n", "*1\r\n\nABC\r\n",
            "*1\r\n\u00ff\r\n", "*1\r\n'4\r\n", "*1\r\n\u00074\r\n",
            "*+1\r\n", "*01\r\n", "* 1\r\n", "*2147483648\r\n", "*\r\n", "*abc\r\n", "*-0\r\n",
            "*9999999999999999999999\r\n",
            "*1\r\n$-1\r\n", "*1\r\n$-2\r\n", "*1\r\n$+4\r\n", "*1\r\n$\r\n", "*1\r\n$abc\r\n", "*1\r\n$04\r\n",
            "*1\r\n$1048577\r\n",
            "*" + flood, "*1\r\n$" + flood, flood,
            "set a \"b\n", "set a \"b\"c\n", "set a 'b'c\n", "echo a\"b\n", "echo \"x\\\n", "echo 'x\\'\r\n",
        ])
            CheckError(redis, wire, authenticated: true);
    }

    [Fact]
    public void Clients_before_AUTH_get_the_errors_of_the_reference()
    {
        using RedisServer redis = RedisServer.Start("--requirepass", "secret");
        CheckError(redis, "*11\r\n", authenticated: false);
        CheckError(redis, "*2147483648\r\n", authenticated: false);
        CheckError(redis, "*1\r\n$16385\r\n", authenticated: false);
        CheckError(redis, "*1\r\n$1048577\r\n", authenticated: false);
    }

    // What RPUSH stored is how the reference split the line.
    [Fact]
    public void Inline_lines_are_split_as_the_reference_splits_them()
    {
        using RedisServer redis = RedisServer.Start();
        using var run = new ParserRun();
        Random random = Seed.NewRandom(1);
        var client = new RespClient(redis.EndPoint);
        for (int round = TimeBudget.Count(3000); round > 0; round--)
        {
            byte[] line = [.. "RPUSH list "u8,
                .. random.GetItems("ab \t\v\f\r\"\"''\\\\xn4f1\u0001"u8, random.Next(1, 14)), (byte)'\n'];
            client.Send("DEL list");
            client.Read();
            client.Send(line);
            Reply pushed = client.Read();
            ParserResult ours = run.Run(line);
            string hint = $"{RespText.Quote(line)}: {pushed}, ours {ours}; {Seed.Hint}";
            if (pushed.IsError && pushed.String.StartsWith("ERR Protocol error", StringComparison.Ordinal))
            {
                Assert.True(ours.End == ParseStatus.UnbalancedQuotes, hint);
                client.Dispose();
                client = new RespClient(redis.EndPoint);
                continue;
            }

            Assert.True(ours.End == ParseStatus.Complete, hint);
            IEnumerable<string> stored = client.Command("LRANGE list 0 -1").Items!.Select(item => item.String);
            Assert.True(stored.SequenceEqual(ours.Commands[0].Skip(2).Select(word => Encoding.Latin1.GetString(word))),
                hint);
        }

        client.Dispose();
    }

    [Fact]
    public void Takes_the_integers_that_the_reference_takes()
    {
        Compare(2, 4000, RandomNumber, text => [Words("SET", "k", text), Words("INCRBY", "k", "0")], (text, replies) =>
        {
            bool ours = NumberText.TryParseInt64(text, out long value);
            return ours == !replies[1].IsError && (!ours || replies[1].Integer == value);
        });
    }

    [Fact]
    public void Takes_the_doubles_that_the_reference_takes()
    {
        Compare(3, 8000, RandomNumber,
            text => [Words("DEL", "z"), Words("ZADD", "z", text, "m"), Words("ZSCORE", "z", "m")], (text, replies) =>
        {
            bool ours = NumberText.TryParseDouble(text, out double value);
            if (ours == replies[1].IsError) return false;
            if (!ours) return true;
            // 17 digits give every bit back; but a sorted set keeps no sign of zero in its text.
            bool parsed = double.TryParse(replies[2].String.Replace("inf", "Infinity"), NumberStyles.Float,
                CultureInfo.InvariantCulture, out double theirs);
            // The reference's C library cuts hexadecimal denormals off where it should round: 0x1.bc06848ee45858p-1023
            // ends in ...2c2 there, in ...2c3 here.
            bool cut = double.IsSubnormal(value) && text.AsSpan().IndexOfAny("xX"u8) >= 0
                && Math.Abs(value - theirs) <= double.Epsilon;
            return parsed && (theirs.Equals(value) || cut);
        });
    }

    [Fact]
    public void Adds_floats_to_the_text_of_the_reference()
    {
        byte[] second = [];
        Random random = Seed.NewRandom(5);
        byte[] buffer = new byte[NumberText.MaxHumanBytes];
        var seconds = new Queue<byte[]>();
        Compare(4, 8000, RandomNumber, text =>
        {
            second = random.Next(4) == 0 ? RandomNumber(random)
                : Encoding.ASCII.GetBytes($"{random.Next(-1000, 1000)}.{random.Next(1000)}");
            seconds.Enqueue(second);
            return [Words("SET", "k", text), Words("INCRBYFLOAT", "k", second)];
        }, (text, replies) =>
        {
            byte[] increment = seconds.Dequeue();
            if (!ExtendedFloat.TryParse(text, out ExtendedFloat left)
                || !ExtendedFloat.TryParse(increment, out ExtendedFloat right))
                return replies[1].IsError && replies[1].String == "ERR value is not a valid float";
            ExtendedFloat sum = left + right;
            if (!sum.IsFinite)
                return replies[1].IsError && replies[1].String == "ERR increment would produce NaN or Infinity";
            return !replies[1].IsError && replies[1].Text.AsSpan()
                .SequenceEqual(buffer.AsSpan(0, sum.FormatHuman(buffer)));
        });
    }

    private static void Compare(int stream, int count, Func<Random, byte[]> next, Func<byte[], byte[][][]> commands,
        Func<byte[], Reply[], bool> agrees)
    {
        using RedisServer redis = RedisServer.Start();
        using var client = new RespClient(redis.EndPoint);
        Random random = Seed.NewRandom(stream);
        for (int left = TimeBudget.Count(count); left > 0; left -= Batch)
        {
            byte[][] texts = [.. Enumerable.Range(0, Batch).Select(_ => next(random))];
            byte[][][][] sent = [.. texts.Select(commands)];
            client.Send([.. sent.SelectMany(group => group).SelectMany(command => RespText.Encode(command))]);
            for (int index = 0; index < Batch; index++)
            {
                Reply[] replies = [.. sent[index].Select(_ => client.Read())];
                Assert.True(agrees(texts[index], replies),
                    $"{RespText.Quote(texts[index])}: {string.Join(", ", sent[index].Select(RespText.Line))} answered "
                    + $"{string.Join(", ", replies.AsEnumerable())}; {Seed.Hint}");
            }
        }
    }

    /// <summary>Numbers of all kinds, near limits, damaged, and no numbers at all.</summary>
    private static byte[] RandomNumber(Random random)
    {
        byte[] text = Encoding.ASCII.GetBytes(random.Next(12) switch
        {
            0 => random.NextInt64(long.MinValue, long.MaxValue).ToString(CultureInfo.InvariantCulture),
            1 => (random.Next(2) == 0 ? long.MaxValue : long.MinValue).ToString(CultureInfo.InvariantCulture),
            2 => random.Next(-200, 200).ToString(CultureInfo.InvariantCulture),
            3 => (random.NextDouble() * Math.Pow(10, random.Next(-12, 12))).ToString("R", CultureInfo.InvariantCulture),
            4 => BitConverter.Int64BitsToDouble(random.NextInt64()).ToString("R", CultureInfo.InvariantCulture),
            5 => $"{random.Next(100000)}.{random.Next(1000):D3}e{random.Next(-330, 320)}",
            6 => $"0x{random.NextInt64():x}.{random.NextInt64():x}p{random.Next(-1100, 1100)}",
            7 => $"{random.Next(10)}.{random.NextInt64()}{random.NextInt64()}e{random.Next(-5000, 5000)}",
            8 => $"0x1.{random.NextInt64(1L << 60):x15}p-{random.Next(1000, 1080)}",
            9 => new[] { "inf", "-inf", "+inf", "nan", "infinity", "-Infinity", "0x", "1e", ".", "-", "", "-0",
                "0x.8p1" }[random.Next(13)],
            10 => $"{new string('0', random.Next(30))}{random.Next()}{new string('0', random.Next(30))}."
                + $"{new string('0', random.Next(30))}{random.Next()}",
            _ => $"{random.Next(-1000, 1000)}.{random.Next(100)}",
        });
        return random.Next(6) == 0 ? Mutation.Of(text, random) : text;
    }

    private static void CheckError(RedisServer redis, string wire, bool authenticated)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(wire);
        using var client = new RespClient(redis.EndPoint);
        client.Send(bytes);
        string theirs = client.Read().String;
        using var run = new ParserRun { Authenticated = authenticated };
        run.Limits.MaxBulkBytes = 1024 * 1024;      // as the reference was started
        ParserResult ours = run.Run(bytes);
        Assert.True(ours.End > ParseStatus.NeedMoreData,
            $"{RespText.Quote(bytes.AsSpan(0, Math.Min(bytes.Length, 80)))}: {ours.End}, not {theirs}");
        Assert.Equal(theirs, Encoding.Latin1.GetString(ProtocolErrors.Text(ours.End, ours.Got)));
    }

    private static byte[][] Words(params object[] words) =>
        [.. words.Select(word => word as byte[] ?? Encoding.ASCII.GetBytes((string)word))];
}
