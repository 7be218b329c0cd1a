using System.Globalization;
using System.Text.Json;
using System.Text.RegularExpressions;
using Kv.Server.Configuration;
using Kv.Tests.Harness;
using Microsoft.Extensions.Logging;
using LineLogging = Kv.Host.LineLogging;
using LineQueue = Kv.Host.LineQueue;

namespace Kv.Tests.Running;

/// <summary>Lines of the log in each form that log-format names, and in the system's log.</summary>
public sealed partial class LogFormatTests : IDisposable
{
    private const string Nasty = "a \"quoted\" \\ back\r\nline\0 \u001b[31m \u2028 \u202e \u200b ü {\"k\":1} =\t";

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-log-").FullName;

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    [Fact]
    public void A_line_of_json_is_an_object_that_says_what_was_logged()
    {
        string[] lines = Log(LogFormat.Json, Nasty, "\ud800 alone");
        Assert.Equal(2, lines.Length);
        using var first = JsonDocument.Parse(lines[0]);
        var fields = first.RootElement.EnumerateObject().ToDictionary(p => p.Name, p => p.Value.GetString());
        Assert.Equal(["time", "level", "source", "message", "exception"], fields.Keys);
        Assert.Equal(("warning", "Part", Nasty), (fields["level"], fields["source"], fields["message"]));
        Assert.Contains("boom", fields["exception"], StringComparison.Ordinal);
        Assert.True(DateTimeOffset.TryParse(fields["time"], out _));
        using var second = JsonDocument.Parse(lines[1]);
        Assert.EndsWith(" alone", second.RootElement.GetProperty("message").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_line_of_logfmt_has_quoted_values_that_read_back()
    {
        string line = Assert.Single(Log(LogFormat.Logfmt, Nasty));
        Assert.DoesNotContain(line, IsUnseen);
        var match = LogfmtLine().Match(line);
        Assert.True(match.Success, line);
        Assert.Equal("warning", match.Groups["level"].Value);
        Assert.Equal("Part", match.Groups["source"].Value);
        Assert.Equal(Nasty, JsonSerializer.Deserialize<string>(match.Groups["msg"].Value));
        string error = JsonSerializer.Deserialize<string>(match.Groups["err"].Value)!;
        Assert.Contains("boom", error, StringComparison.Ordinal);
    }

    [Fact]
    public void A_line_of_text_is_one_line()
    {
        string line = Assert.Single(Log(LogFormat.Text, Nasty));
        Assert.Matches(@"^\d{4}-\d\d-\d\dT[\d:.]{12}Z warning Part: a ""quoted"" ", line);
        Assert.Contains(@"back\x0d\nline\x00", line, StringComparison.Ordinal);
        // Nothing that moves a cursor, ends a line for some, or turns around what stands beside it.
        Assert.Contains(@"\u2028 \u202e \u200b ü", line, StringComparison.Ordinal);
        Assert.DoesNotContain(line, IsUnseen);
    }

    [Fact]
    public void Every_line_of_a_server_is_an_object_and_none_has_a_password()
    {
        string log = Path.Combine(_directory, "kv.log");
        using (var kv = KvProcess.StartOn(ServerProgram.FreePort(), "--log-format", "json", "--logfile", log,
            "--loglevel", "debug", "--requirepass", "hunter2"))
        {
            Eventually.Holds(() => File.Exists(log)
                && File.ReadAllText(log).Contains("Ready to accept", StringComparison.Ordinal), () => kv.Log);
            using var client = kv.Connect();
            client.Command("AUTH hunter3");
            client.Ok("AUTH hunter2");
            client.Ok("CONFIG SET requirepass hunter4");
            client.Ok("CONFIG SET log-format logfmt");
            client.Command("CONFIG REWRITE");
            kv.Signal("TERM");
            Assert.Equal(0, kv.WaitForExit());
        }

        string[] lines = File.ReadAllLines(log);
        int changed = Array.FindIndex(lines, line => line.StartsWith("time=", StringComparison.Ordinal));
        Assert.True(changed > 3, string.Join('\n', lines));
        Assert.All(lines[..changed], line => JsonDocument.Parse(line).Dispose());
        Assert.All(lines[changed..], line => Assert.Matches(LogfmtLine(), line));
        Assert.DoesNotContain(lines, line => line.Contains("hunter", StringComparison.Ordinal));
    }

    // <level of local3 (19) and warning (4)>month day time ident[pid]: text
    [Fact]
    public void The_systems_log_gets_each_line_as_a_datagram()
    {
        using var socket = new NotifySocket();
        using (var log = new LineLogging(Options(LogFormat.Json), socket.Path))
        {
            var logger = log.CreateLogger("Kv.Server.Part");
            logger.LogWarning("first\nline");
            logger.LogInformation("second");
        }

        Assert.Matches($@"^<156>[A-Z][a-z]{{2}} [ \d]\d [\d:]{{8}} cache\[{Environment.ProcessId}\]: "
            + @"Part: first\\nline$", socket.Read());
        Assert.Matches(@"^<157>.*: Part: second$", socket.Read());
        Assert.Equal(2, File.ReadAllLines(Path.Combine(_directory, "kv.log")).Length);
    }

    [Fact]
    public void A_system_log_that_was_started_again_gets_the_next_lines()
    {
        var first = new NotifySocket();
        using var restarted = new NotifySocket();
        using var log = new LineLogging(Options(LogFormat.Text), first.Path);
        log.CreateLogger("Part").LogWarning("before");
        Assert.EndsWith(": Part: before", first.Read(), StringComparison.Ordinal);
        first.Dispose();
        File.Move(restarted.Path, first.Path);
        Eventually.Holds(() =>
        {
            log.CreateLogger("Part").LogWarning("after");
            return restarted.HasInput;
        }, () => "nothing arrives");
        File.Delete(first.Path);
        Assert.EndsWith(": Part: after", restarted.Read(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_system_log_that_nobody_reads_holds_up_nobody_and_what_is_lost_is_counted()
    {
        using var socket = new NotifySocket();
        using var log = new LineLogging(Options(LogFormat.Text), socket.Path);
        var logger = log.CreateLogger("Kv.Server.Part");
        // More than the socket and the queue hold together.
        for (int i = 0; i < 20_000; i++) logger.LogWarning("{Line}", new string('x', 200));
        Eventually.Holds(() => log.DroppedLines > 0, () => "nothing is dropped");
        using var lost = new LineLogging(Options(LogFormat.Text), "/nonexistent/log");
        lost.CreateLogger("Part").LogWarning("line");
        Eventually.Holds(() => lost.DroppedLines == 1, () => "the line is not counted");
    }

    [Fact]
    public void That_there_is_no_system_log_is_said_once_in_the_log_that_there_is()
    {
        string file = Path.Combine(_directory, "kv.log");
        using var socket = new NotifySocket();
        using var log = new LineLogging(Options(LogFormat.Text), Path.Combine(_directory, "devlog"));
        for (int i = 1; i <= 3; i++) Lose(i);
        Eventually.Holds(() => Lost().Length == 1, () => File.ReadAllText(file));
        Assert.EndsWith("There is no " + Path.Combine(_directory, "devlog"), Lost()[0], StringComparison.Ordinal);
        File.Move(socket.Path, Path.Combine(_directory, "devlog"));
        Eventually.Holds(() =>
        {
            log.CreateLogger("Part").LogWarning("line");
            return socket.HasInput;
        }, () => "nothing arrives");
        socket.Dispose();
        File.Delete(Path.Combine(_directory, "devlog"));
        Eventually.Holds(() =>
        {
            log.CreateLogger("Part").LogWarning("line");
            return Lost().Length == 2;
        }, () => File.ReadAllText(file));

        void Lose(int count)
        {
            log.CreateLogger("Part").LogWarning("line");
            Eventually.Holds(() => log.DroppedLines == count, () => "the line is not counted");
        }

        string[] Lost() => [.. File.ReadAllLines(file).Where(line => line.Contains(
            " warning Log: The system's log cannot be reached (syslog-enabled)", StringComparison.Ordinal))];
    }

    // The thread that writes lives on, whatever becomes of its output.
    [Theory]
    [InlineData(typeof(IOException)), InlineData(typeof(System.Net.Sockets.SocketException))]
    [InlineData(typeof(UnauthorizedAccessException)), InlineData(typeof(ObjectDisposedException))]
    public void Whatever_the_output_throws_the_next_line_is_tried_again(Type exception)
    {
        var output = new FailingStream(() => exception == typeof(ObjectDisposedException)
            ? new ObjectDisposedException("output") : (Exception)Activator.CreateInstance(exception)!);
        using var queue = new LineQueue(output);
        queue.Add("one\n"u8.ToArray(), _ => []);
        Eventually.Holds(() => output.Failed, () => "nothing is written");
        queue.Add("two\n"u8.ToArray(), _ => []);
        Eventually.Holds(() => output.Length == 4, () => "the second line is not written");
    }

    private sealed class FailingStream(Func<Exception> exception) : MemoryStream
    {
        public volatile bool Failed;

        // A memory stream that is derived from comes here from the other overload, too.
        public override void Write(byte[] buffer, int offset, int count)
        {
            if (Failed)
            {
                base.Write(buffer, offset, count);
                return;
            }

            Failed = true;
            throw exception();
        }
    }

    private static bool IsUnseen(char c) => char.GetUnicodeCategory(c) is UnicodeCategory.Control
        or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;

    private string[] Log(LogFormat format, params string[] texts)
    {
        var options = Options(format);
        options.SyslogEnabled = false;
        using (var log = new LineLogging(options))
        {
            var error = new InvalidOperationException("boom\nboom");
            foreach (string text in texts) log.CreateLogger("Kv.Server.Part").LogError(error, "{Text}", text);
        }

        string written = File.ReadAllText(options.LogFile);
        Assert.EndsWith("\n", written, StringComparison.Ordinal);
        return written[..^1].Split('\n');
    }

    private ServerOptions Options(LogFormat format) => new()
    {
        LogFormat = format, LogFile = Path.Combine(_directory, "kv.log"),
        SyslogEnabled = true, SyslogFacility = "local3", SyslogIdent = "cache",
    };

    [GeneratedRegex(@"^time=\S+ level=(?<level>\w+) source=(?<source>\w+) msg=(?<msg>""(\\.|[^""\\])*"")"
        + @"( err=(?<err>""(\\.|[^""\\])*""))?$")]
    private static partial Regex LogfmtLine();
}
