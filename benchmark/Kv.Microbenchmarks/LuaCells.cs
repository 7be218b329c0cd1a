using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Kv.Lua;

namespace Kv.Microbenchmarks;

/// <summary>Times the programs of the folder Lua on Kv's machine and, by EVAL, on redis-server, side by side.</summary>
internal static class LuaCells
{
    private const int Port = 21680, Rounds = 5, ReferenceRounds = 3, Budget = 100_000;

    public static void Run(string only)
    {
        using Process? reference = StartReference();
        string folder = Path.Combine(AppContext.BaseDirectory, "Lua");
        foreach (string file in Directory.GetFiles(folder, "*.lua").Order())
        {
            string name = Path.GetFileNameWithoutExtension(file), program = File.ReadAllText(file);
            if (only.Length > 0 && only != name) continue;
            var (ours, result) = Best(Rounds, OnMachine(program));
            if (reference is null)
            {
                Console.WriteLine($"{name,-12} {ours,8:F1} ms");
                continue;
            }

            string text = $"return tostring((function() {program} end)())";
            var (theirs, expected) = Best(ReferenceRounds, () => Eval(text));
            string note = result == expected ? "" : $"   results differ: {result}, {expected}";
            Console.WriteLine($"{name,-12} {ours,8:F1} ms   redis-server {theirs,8:F1} ms   {ours / theirs:F2}{note}");
        }

        reference?.Kill();
    }

    private static (double Milliseconds, string Result) Best(int rounds, Func<string> run)
    {
        double best = double.MaxValue;
        string result = "";
        for (int i = 0; i < rounds; i++)
        {
            long begin = Stopwatch.GetTimestamp();
            result = run();
            best = Math.Min(best, Stopwatch.GetElapsedTime(begin).TotalMilliseconds);
        }

        return (best, result);
    }

    private static Func<string> OnMachine(string program)
    {
        var machine = new LuaMachine();
        LuaChunk chunk = LuaMachine.Compile(Encoding.Latin1.GetBytes(program), "@program");
        return () =>
        {
            machine.Begin(chunk);
            LuaOutcome outcome;
            // Ends: the programs do.
            do outcome = machine.Run(Budget);
            while (outcome == LuaOutcome.Suspended);
            return (outcome == LuaOutcome.Done ? machine.Results[0] : machine.Error).ToString();
        };
    }

    private static Process? StartReference()
    {
        try
        {
            var start = new ProcessStartInfo("redis-server",
                ["--port", Port.ToString(CultureInfo.InvariantCulture), "--save", "", "--bind", "127.0.0.1"])
            { RedirectStandardOutput = true };
            Process server = Process.Start(start)!;
            // Ends: the server says that it is ready, or ends.
            while (server.StandardOutput.ReadLine() is { } line)
                if (line.Contains("Ready to accept", StringComparison.Ordinal)) return server;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            // Not installed: Kv's times alone.
        }

        return null;
    }

    private static string Eval(string script)
    {
        using var client = new TcpClient("127.0.0.1", Port);
        NetworkStream stream = client.GetStream();
        byte[] text = Encoding.Latin1.GetBytes(script);
        stream.Write(Encoding.ASCII.GetBytes($"*3\r\n$4\r\nEVAL\r\n${text.Length}\r\n"));
        stream.Write(text);
        stream.Write("\r\n$1\r\n0\r\n"u8);
        using var reader = new StreamReader(stream, Encoding.Latin1);
        string head = reader.ReadLine() ?? "";
        return head.StartsWith('$') ? reader.ReadLine() ?? "" : head;
    }
}
