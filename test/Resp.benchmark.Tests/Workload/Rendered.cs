using System.Text;
using Kv.Protocol;
using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Workload;

/// <summary>What a workload's source renders, and what a server's parser makes of it.</summary>
internal static class Rendered
{
    /// <summary>The bytes of so many commands of one session, asked for in chunks of at most
    /// <paramref name="most"/>.</summary>
    public static byte[] Bytes(RequestSource source, ref SessionStream session, long commands, int most = int.MaxValue)
    {
        using var bytes = new MemoryStream();
        long done = 0;
        bool isCut = false;
        while (done < commands || isCut)
        {
            int wanted = (int)Math.Min(most, Math.Max(1, commands - done));
            RequestChunk chunk = source.Render(ref session, wanted);
            Assert.True(chunk.Commands <= wanted, $"{chunk.Commands} commands where {wanted} were asked for");
            Assert.InRange(chunk.Bytes.Length, 0, RequestSource.ImageBytes);
            if (chunk.Bytes.IsEmpty) break;
            Assert.True(chunk.Kinds.IsEmpty || chunk.Kinds.Length == chunk.Commands);
            bytes.Write(chunk.Bytes);
            done += chunk.Commands;
            isCut = chunk.IsCut;
        }

        return bytes.ToArray();
    }

    /// <summary>The commands of one session of one loop, parsed; the source must say as many as the parser
    /// sees.</summary>
    public static List<string[]> Commands(RespBenchmark.Workload.Workload workload, int count, ulong seed = 1,
        int most = int.MaxValue)
    {
        using RequestSource source = workload.Open(0, 1, 1, seed);
        var session = default(SessionStream);
        List<string[]> commands = Parse(Bytes(source, ref session, count, most));
        Assert.Equal(count, commands.Count);
        Assert.Equal(count, session.Begun);
        return commands;
    }

    /// <summary>The first command, its words joined by a space.</summary>
    public static string First(RespBenchmark.Workload.Workload workload) => string.Join(' ', Commands(workload, 1)[0]);

    public static unsafe List<string[]> Parse(byte[] bytes)
    {
        var commands = new List<string[]>();
        byte[] padded = [.. bytes, .. new byte[CommandParser.PaddingBytes]];
        var limits = new RespLimits();
        using var table = new ArgumentTable();
        var state = default(ParseState);
        int position = 0;
        fixed (byte* input = padded)
        {
            while (position < bytes.Length)
            {
                table.Clear();
                int first, count;
                ParseStatus status;
                // Ends: a large command is taken out of the input some arguments at a time.
                do
                {
                    status = CommandParser.Parse(input, bytes.Length, ref position, table, limits,
                        true, ref state, out first, out count);
                }
                while (status == ParseStatus.NeedMoreData && state.IsInterrupted);
                Assert.Equal(ParseStatus.Complete, status);
                var words = new string[count];
                for (int index = 0; index < count; index++)
                    words[index] = Encoding.Latin1.GetString(table.Items[first + index].Span);
                commands.Add(words);
            }
        }

        return commands;
    }
}
