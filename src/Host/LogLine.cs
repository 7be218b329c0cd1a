using System.Buffers;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Kv.Server.Configuration;
using Microsoft.Extensions.Logging;

namespace Kv.Host;

/// <summary>One event of the log, written in one of the forms that log-format names: one line each, whatever a client
/// put into it.</summary>
internal readonly record struct LogLine(LogLevel Level, string Part, string Text, Exception? Exception)
{
    // The numbers of syslog.
    private const int Warning = 4, Notice = 5, Info = 6, Debug = 7, FacilityStep = 8;

    /// <summary>The line with its end.</summary>
    public byte[] Write(LogFormat format, DateTime utcNow)
    {
        string time = utcNow.ToString("yyyy-MM-ddTHH:mm:ss.fffZ", CultureInfo.InvariantCulture);
        return format switch
        {
            LogFormat.Json => Json(time),
            LogFormat.Logfmt => Logfmt(time),
            _ => Encoding.UTF8.GetBytes($"{time} {Word} {Body()}\n"),
        };
    }

    /// <summary>The line as a datagram for the system's log, with an end that is not sent.</summary>
    public byte[] WriteSyslog(string facility, string ident, DateTime now)
    {
        System.Diagnostics.Debug.Assert(facility == "user" || char.IsBetween(facility[^1], '0', '7'),
            "it is user, or one of the local ones");
        int number = facility == "user" ? 1 : 16 + (facility[^1] - '0');
        int severity = Level switch
        {
            LogLevel.Trace => Debug,
            LogLevel.Debug => Info,
            LogLevel.Information => Notice,
            _ => Warning,
        };
        // A day below 10 has a space before it.
        string time = now.ToString("MMM ", CultureInfo.InvariantCulture)
            + now.Day.ToString(CultureInfo.InvariantCulture).PadLeft(2)
            + now.ToString(" HH:mm:ss", CultureInfo.InvariantCulture);
        var line = new StringBuilder();
        line.Append(CultureInfo.InvariantCulture, $"<{(number * FacilityStep) + severity}>{time} ");
        AppendEscaped(line, ident);
        line.Append(CultureInfo.InvariantCulture, $"[{Environment.ProcessId}]: {Body()}\n");
        return Encoding.UTF8.GetBytes(line.ToString());
    }

    private string Word => Level switch
    {
        LogLevel.Trace => "debug",
        LogLevel.Debug => "verbose",
        LogLevel.Information => "notice",
        _ => "warning",
    };

    private string Body()
    {
        var line = new StringBuilder(128).Append(Part).Append(": ");
        AppendEscaped(line, Text);
        if (Exception != null) AppendEscaped(line.Append(" | "), Exception.ToString());
        return line.ToString();
    }

    private byte[] Json(string time)
    {
        var buffer = new ArrayBufferWriter<byte>(256);
        using (var writer = new Utf8JsonWriter(buffer))
        {
            writer.WriteStartObject();
            writer.WriteString("time", time);
            writer.WriteString("level", Word);
            writer.WriteString("source", Part);
            writer.WriteString("message", Text);
            if (Exception != null) writer.WriteString("exception", Exception.ToString());
            writer.WriteEndObject();
        }

        buffer.Write("\n"u8);
        return buffer.WrittenSpan.ToArray();
    }

    private byte[] Logfmt(string time)
    {
        var line = new StringBuilder(128).Append(CultureInfo.InvariantCulture,
            $"time={time} level={Word} source={Part} msg=");
        AppendQuoted(line, Text);
        if (Exception != null) AppendQuoted(line.Append(" err="), Exception.ToString());
        return Encoding.UTF8.GetBytes(line.Append('\n').ToString());
    }

    private static void AppendQuoted(StringBuilder line, string text)
    {
        line.Append('"');
        foreach (char c in text)
        {
            if (c is '"' or '\\') line.Append('\\').Append(c);
            else if (c == '\n') line.Append("\\n");
            else if (IsUnseen(c))
                line.Append(CultureInfo.InvariantCulture, $"\\u{(int)c:x4}");
            else line.Append(c);
        }

        line.Append('"');
    }

    private static void AppendEscaped(StringBuilder line, string text)
    {
        foreach (char c in text)
        {
            if (c == '\n') line.Append("\\n");
            else if (char.IsControl(c)) line.Append(CultureInfo.InvariantCulture, $"\\x{(int)c:x2}");
            else if (IsUnseen(c)) line.Append(CultureInfo.InvariantCulture, $"\\u{(int)c:x4}");
            else line.Append(c);
        }
    }

    /// <summary>What ends a line for some, moves a terminal's cursor, or turns around what stands beside it.</summary>
    private static bool IsUnseen(char c) => char.GetUnicodeCategory(c) is UnicodeCategory.Control
        or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator;
}
