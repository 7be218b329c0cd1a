using System.Net;
using System.Net.Sockets;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Differential;

/// <summary>DEBUG beside a real server: replies of every type byte by byte, and digests of the same data.</summary>
public class DebugComparisonTests
{
    [Fact]
    public void DEBUG_PROTOCOL_sends_the_bytes_of_the_reference()
    {
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        const string names =
            "string integer bignum null array set map attrib push verbatim true false nothing VERBATIM Attrib";
        foreach (string name in names.Split(' '))
        {
            foreach (int resp in (int[])[2, 3])
                Assert.Equal((name, Raw(redis.EndPoint, resp, $"DEBUG PROTOCOL {name}")),
                    (name, Raw(kv.EndPoint, resp, $"DEBUG PROTOCOL {name}")));
        }

        // As 7.2 writes doubles; 7.0 has 17 digits.
        Assert.Equal(",3.141\r\n", Raw(kv.EndPoint, 3, "DEBUG PROTOCOL double"));
        foreach (string line in (string[])["DEBUG ERROR \"a\\nb\\r\"", "DEBUG ERROR x y", "DEBUG DIGEST-VALUE",
            "DEBUG DIGEST x", "DEBUG SET-DISABLE-DENY-SCRIPTS 1"])
            Assert.Equal((line, Raw(redis.EndPoint, 2, line)), (line, Raw(kv.EndPoint, 2, line)));
    }

    [Fact]
    public void The_same_data_have_the_same_digest_on_the_reference()
    {
        using var redis = RedisServer.Start();
        using var kv = KvInstance.Start("--enable-debug-command", "yes");
        using RespClient theirs = redis.Connect(), ours = kv.Connect();
        Assert.Equal($"+{new string('0', 40)}", Both("DEBUG DIGEST"));
        var random = Seed.NewRandom();
        foreach (int database in (int[])[0, 3, 15])
        {
            Both($"SELECT {database}");
            Both("SET s v");
            Both("SET n -12345");
            Both($"SET long {new string('l', 100_000)}");
            Both("SET e v EX 100000");
            Both("PFADD pf a b c");
            // Packed and large, numbers and text, in any order.
            foreach (int count in (int[])[1, 20, 700])
            {
                for (int i = 0; i < count; i++)
                {
                    int any = random.Next(-1000, 1000);
                    Both($"RPUSH l{count} {any} x{any}");
                    Both($"SADD i{count} {any}");
                    Both($"SADD t{count} {any} x{any}");
                    Both($"HSET h{count} f{any} {any} {i} v{any}");
                    Both($"ZADD z{count} {(any % 7 == 0 ? "inf" : any % 3 == 0 ? $"{any}" : $"{any}.1e-7")} m{i} -0.0 "
                        + $"zero {any * 1e15:R} big{any}");
                    Both($"XADD x{count} {i + 1}-{i % 4} f {any} g v{i}");
                }

                Both($"XDEL x{count} 1-0");
                Both($"EXPIRE h{count} 100000");
            }

            foreach (int count in (int[])[1, 20, 700])
                Both($"DEBUG DIGEST-VALUE l{count} i{count} t{count} h{count} z{count} x{count} s n long e pf nosuch");
            Both("DEBUG DIGEST");
        }

        string before = Both("DEBUG DIGEST");
        Both("LPUSH l20 one more");
        Assert.NotEqual(before, Both("DEBUG DIGEST"));
        Both("LTRIM l20 2 -1");
        Assert.Equal(before, Both("DEBUG DIGEST"));
        Both("MULTI");
        Both("DEBUG DIGEST");
        Assert.Contains(before[1..], Both("EXEC"), StringComparison.Ordinal);
        Assert.Equal("v", ours.Ok("GET s").String);

        string Both(string line)
        {
            string expected = theirs.Command(line).ToString(), actual = ours.Command(line).ToString();
            Assert.True(expected == actual, $"{line}: {expected}, ours {actual}");
            return actual;
        }
    }

    /// <summary>The bytes of one reply.</summary>
    private static string Raw(EndPoint server, int resp, string line)
    {
        using var socket = new Socket(server.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(server);
        socket.Send(Encoding.ASCII.GetBytes($"HELLO {resp}\r\nPING\r\n"));
        ReadToPong();
        socket.Send(Encoding.ASCII.GetBytes($"{line}\r\nPING\r\n"));
        return ReadToPong();

        string ReadToPong()
        {
            const string end = "+PONG\r\n";
            var text = new StringBuilder();
            byte[] buffer = new byte[4096];
            while (!text.ToString().EndsWith(end, StringComparison.Ordinal))
            {
                int received = socket.Receive(buffer);
                Assert.True(received > 0, $"{line}: the server closed the connection");
                text.Append(Encoding.Latin1.GetString(buffer, 0, received));
            }

            return text.ToString(0, text.Length - end.Length);
        }
    }
}
