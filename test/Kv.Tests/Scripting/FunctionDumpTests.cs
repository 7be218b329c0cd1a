using System.Buffers.Binary;
using System.Text;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Scripting;

/// <summary>Libraries as bytes, both ways with a real server; and bytes that are none.</summary>
public sealed class FunctionDumpTests
{
    private static byte[] Library(string name, string function, string more = "") => Encoding.Latin1.GetBytes(
        $"#!lua name={name}\nredis.register_function('{function}', function(k, a) return {{k, a, '{name}'}} end)"
        + more);

    // Short and long, compressible and not, beyond what is sent without a copy.
    private static IEnumerable<byte[]> Libraries()
    {
        var random = Seed.NewRandom();
        foreach (int length in new[] { 0, 1, 100, 20_000, 200_000 })
        {
            string text = string.Concat(Enumerable.Range(0, length).Select(_ => (char)random.Next('a', 'z')));
            yield return Library($"random{length}", $"r{length}", $" -- {text}");
            yield return Library($"same{length}", $"s{length}", $" -- {new string('x', length)}");
        }
    }

    [Theory, InlineData(true), InlineData(false)]
    public void What_one_server_dumps_the_other_restores(bool isFromReference)
    {
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        using RespClient from = (isFromReference ? redis : (TestServer)kv).Connect(),
            to = (isFromReference ? kv : (TestServer)redis).Connect();
        foreach (bool compresses in new[] { true, false })
        {
            from.Ok("FUNCTION FLUSH");
            from.Ok($"CONFIG SET rdbcompression {(compresses ? "yes" : "no")}");
            int count = 0;
            foreach (byte[] text in Libraries())
            {
                Assert.Equal("+OK", Restore(to, Dump(from), "FLUSH"));
                Assert.Equal(count++, to.Command("FUNCTION LIST").Items!.Count);
                from.Command(Words("FUNCTION", "LOAD", text));
            }

            Assert.Equal("+OK", Restore(to, Dump(from), "FLUSH"));
            Assert.Equal(Codes(from), Codes(to));
            Assert.Equal("[[\"k\"] [\"a\"] \"random100\"]", to.Command("FCALL r100 1 k a").ToString());
        }
    }

    [Fact]
    public void Restoring_answers_as_the_reference_does()
    {
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start();
        Assert.Equal(Answers(redis), Answers(kv));
    }

    private static List<string> Answers(TestServer server)
    {
        using var client = server.Connect();
        var answers = new List<string>();
        void Ask(params object[] words) => answers.Add($"{client.Command(Words(words))} "
            + string.Join(' ', Codes(client).Select(code => code[..14])));
        void Load(string name, string function) => client.Command(Words("FUNCTION", "LOAD", Library(name, function)));
        byte[] none = Dump(client);
        Load("a", "fa");
        byte[] a = Dump(client);
        Ask("FUNCTION", "RESTORE", none);
        Ask("FUNCTION", "RESTORE", none, "FLUSH");
        foreach (string policy in new[] { "APPEND", "append", "REPLACE", "FLUSH" })
        {
            Ask("FUNCTION", "RESTORE", a, policy);
            Ask("FUNCTION", "RESTORE", a);
        }

        foreach (object[] wrong in new object[][]
        {
            [a, "XX"], [a, "FLUSH", "FLUSH"], [], [""], ["abc"], [a[..^1]], [(byte[])[.. a[..^1], (byte)(a[^1] ^ 1)]],
            [(byte[])[0, .. a[1..]]], [none[..^1]],
        })
            Ask(["FUNCTION", "RESTORE", .. wrong]);
        Ask("FUNCTION", "DUMP", "x");
        client.Command("FUNCTION FLUSH");
        Load("z", "FA");        // functions differ not by case
        foreach (string policy in new[] { "APPEND", "REPLACE" }) Ask("FUNCTION", "RESTORE", a, policy);
        Ask("FUNCTION", "RESTORE", a, "FLUSH");
        client.Command("FUNCTION FLUSH");
        byte[] q = Framed(Library("q", "fq")), other = Framed(Library("q", "fz")), same = Framed(Library("r", "fq"));
        foreach (byte[] body in new byte[][]
        {
            [], q, [.. q, .. other], [.. q, .. same], [.. q, 0xF5], [.. q, 1], [0, .. q], Framed("foo"u8.ToArray()),
            Framed("#!lua name=q\nreturn 1"u8.ToArray()), [.. q, .. Framed("foo"u8.ToArray())], [0xF5, 0xC0, 5],
            [0xF5, 0x41, 0, 1], [0xF5, 0xC3, 1, 2], [0xF5, 0x81, 255, 255, 255, 255, 255, 255, 255, 255],
            Framed("#!lua name=q\nx x"u8.ToArray()), [.. Framed("foo"u8.ToArray()), 1],
        })
        {
            Ask("FUNCTION", "RESTORE", Payload(body, 10));
            Ask("FUNCTION", "RESTORE", Payload(body, 10), "FLUSH");
        }

        Ask("FUNCTION", "RESTORE", Payload(q, 9));
        Ask("FUNCTION", "RESTORE", Payload(q, 13));
        return answers;
    }

    [Fact]
    public void No_bytes_end_in_anything_but_an_answer()
    {
        using var kv = KvInstance.Start();
        using var client = kv.Connect();
        var random = Seed.NewRandom();
        byte[] body = [.. Framed(Library("a", "fa", new string('x', 300))), .. Framed(Library("b", "fb"))];
        for (int i = 0; i < 500; i++)
        {
            byte[] damaged = [.. body.AsSpan(0, random.Next(body.Length + 1))];
            for (int n = random.Next(4); n > 0 && damaged.Length > 0; n--)
                damaged[random.Next(Math.Min(damaged.Length, 8))] = (byte)random.Next(256);
            string answer = Restore(client, Payload(damaged, 10), "REPLACE");
            Assert.True(answer is "+OK" || answer.StartsWith("-ERR ", StringComparison.Ordinal), answer);
        }
    }

    private static byte[] Dump(RespClient client) => client.Ok("FUNCTION DUMP").Text!;

    private static string Restore(RespClient client, byte[] payload, string policy) =>
        client.Command(Words("FUNCTION", "RESTORE", payload, policy)).ToString();

    private static List<string> Codes(RespClient client) =>
        [.. client.Ok("FUNCTION LIST WITHCODE").Items!.Select(library => library.Items![^1].String).Order()];

    private static byte[] Framed(byte[] text) =>
        [0xF5, (byte)(0x40 | (text.Length >> 8)), (byte)text.Length, .. text];

    private static byte[] Payload(byte[] body, ushort version)
    {
        byte[] bytes = new byte[body.Length + 10];
        body.CopyTo(bytes, 0);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(body.Length), version);
        ulong sum = Crc64.Append(0, bytes.AsSpan(0, body.Length + 2));
        BinaryPrimitives.WriteUInt64LittleEndian(bytes.AsSpan(body.Length + 2), sum);
        return bytes;
    }

    private static byte[][] Words(params object[] words) =>
        [.. words.Select(word => word as byte[] ?? Encoding.Latin1.GetBytes((string)word))];
}
