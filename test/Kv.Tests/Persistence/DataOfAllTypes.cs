using Kv.Tests.Harness;

namespace Kv.Tests.Persistence;

/// <summary>Data of every type, packed and large, in several databases; the same on any server of one
/// version.</summary>
internal static class DataOfAllTypes
{
    private const int Batch = 500;

    /// <summary>Numbers of elements.</summary>
    public static readonly int[] Counts = [1, 20, 1500];

    /// <summary>Fills two databases, each with a string of so many bytes, too.</summary>
    public static void Fill(RespClient client, Random random, int hugeBytes = 20_000_000)
    {
        foreach (string[] lines in Lines(random, hugeBytes).Chunk(Batch))
        {
            client.Send([.. lines.SelectMany(RespText.Encode)]);
            foreach (string line in lines)
            {
                var reply = client.Read();
                Assert.False(reply.IsError, $"{line} answered {reply}");
            }
        }

        client.Command("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(),
            "#!lua name=saved\nredis.register_function('answer', function() return 42 end)"u8.ToArray());
    }

    private static IEnumerable<string> Lines(Random random, int hugeBytes)
    {
        foreach (int database in (int[])[9, 0])
        {
            yield return $"SELECT {database}";
            yield return "SET s v";
            yield return "SET \"\" empty-key";
            yield return "SET empty \"\"";
            yield return "SET n -12345";
            yield return "SET big 9223372036854775807";
            yield return "SET e v PXAT 33177117420000";
            yield return $"SET long {new string('l', 100_000)}";
            yield return $"SETRANGE huge {hugeBytes} {database}";
            yield return "PFADD pf a b c";
            foreach (int count in Counts)
                foreach (string line in Collections(random, count)) yield return line;
        }
    }

    private static IEnumerable<string> Collections(Random random, int count)
    {
        for (int i = 0; i < count; i++)
        {
            int any = random.Next(-1000, 1000);
            yield return $"RPUSH l{count} {any} x{any} {new string('y', i % 97)}z";
            yield return $"SADD i{count} {any}";
            yield return $"SADD t{count} {any} x{any}";
            yield return $"HSET h{count} f{any} {any} {i} v{any}";
            yield return $"ZADD z{count} {(any % 7 == 0 ? "inf" : any % 3 == 0 ? $"{any}" : $"{any}.1e-7")} m{i}";
            yield return $"XADD x{count} {i + 1}-{i % 4} f {any} g v{i}";
        }

        yield return $"XDEL x{count} 1-0";
        yield return $"XGROUP CREATE x{count} group 0";
        yield return $"XREADGROUP GROUP group reader COUNT {(count / 2) + 1} STREAMS x{count} >";
        yield return $"EXPIRE h{count} 100000";
    }
}
