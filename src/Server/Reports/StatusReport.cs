using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using Kv.Protocol;
using Kv.Server.Configuration;
using Kv.Server.Sessions;

namespace Kv.Server.Reports;

//  { "time": 1764000000000,                                            Unix milliseconds
//    "info": { "Server": { "redis_version": "7.2.0", ... }, ... },     INFO EVERYTHING HOTKEYS BIGKEYS
//    "slowlog": { "total": 3, "entries": [ { "id": 2, "time": 1764000000, "microseconds": 12, "arguments": [], ...
//    "clients": [ { "id": "7", "addr": "127.0.0.1:50000", ... } ],     fields of CLIENT LIST
//    "options": [ { "name": "port", "value": "6379", "default": "6379", "origin": "default", "summary": ...

/// <summary>What the web page shows, as JSON: INFO as it is, so that no figure can differ from it, the newest of the
/// slow log, the largest clients, the options.</summary>
/// <remarks>
/// Each value is on a line of its own. Bounded: by INFO, and by the numbers below.
/// Cost: as INFO EVERYTHING, about a millisecond; not on a worker's turn.
/// </remarks>
internal static partial class StatusReport
{
    public const string ContentType = "application/json";

    /// <summary>How many are shown at most.</summary>
    public const int SlowMax = 32, ClientsMax = 64;

    /// <summary>Of the value of an option, or the name of a user.</summary>
    private const int CharsMax = 512;

    private static readonly JsonWriterOptions Form = new() { Indented = true, IndentSize = 0, NewLine = "\n" };
    private static readonly ServerOptions Defaults = new();

    /// <summary>What is shown of a line of CLIENT LIST.</summary>
    private static readonly HashSet<string> ClientFields =
    [
        "id", "addr", "name", "age", "idle", "flags", "db", "sub", "psub", "multi", "qbuf", "omem", "tot-mem", "cmd",
        "user", "resp", "lib-name", "lib-ver",
    ];

    /// <summary>Writes the whole of it.</summary>
    public static void Write(KvServer server, StatusParts parts, PageBuffer page)
    {
        using var json = new Utf8JsonWriter(page, Form);
        json.WriteStartObject();
        json.WriteNumber("time", server.Time.GetUtcNow().ToUnixTimeMilliseconds());
        WriteInfo(json, InfoReport.Write(server, InfoSections.WithKeys, parts.Rules));
        if (parts.SlowLog) WriteSlowLog(json, server);
        if (parts.Clients) WriteClients(json, server.Connections);
        if (parts.Options) WriteOptions(json, server.Options, parts.Origins);
        json.WriteEndObject();
    }

    private static void WriteInfo(Utf8JsonWriter json, string text)
    {
        json.WriteStartObject("info");
        bool isOpen = false;
        foreach (string line in text.Split("\r\n"))
        {
            int colon = line.IndexOf(':', StringComparison.Ordinal);
            if (line.StartsWith("# ", StringComparison.Ordinal))
            {
                if (isOpen) json.WriteEndObject();
                json.WriteStartObject(line[2..]);
                isOpen = true;
            }
            else if (colon > 0) json.WriteString(line[..colon], line[(colon + 1)..]);
        }

        if (isOpen) json.WriteEndObject();
        json.WriteEndObject();
    }

    private static void WriteSlowLog(Utf8JsonWriter json, KvServer server)
    {
        json.WriteStartObject("slowlog");
        json.WriteNumber("total", server.SlowLog.Count);
        json.WriteStartArray("entries");
        foreach (var entry in server.SlowLog.Newest(SlowMax))
        {
            json.WriteStartObject();
            json.WriteNumber("id", entry.Id);
            json.WriteNumber("time", entry.UnixSeconds);
            json.WriteNumber("microseconds", entry.Microseconds);
            json.WriteStartArray("arguments");
            ReplyReader.TryRead(entry.Arguments, out _, out var arguments);
            foreach (var argument in arguments.Elements) json.WriteStringValue(ShownText.Of(argument.Bytes));
            json.WriteEndArray();
            json.WriteString("address", entry.Address);
            json.WriteString("name", ShownText.Of(entry.Name));
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }

    private static void WriteClients(Utf8JsonWriter json, ConnectionTable connections)
    {
        json.WriteStartArray("clients");
        // Memory changes meanwhile: it is read once.
        var largest = connections.Snapshot().Select(session => (Session: session, Bytes: session.MemoryBytes))
            .OrderByDescending(pair => pair.Bytes).Take(ClientsMax).OrderBy(pair => pair.Session.Id);
        foreach (var (session, _) in largest)
        {
            var line = new StringBuilder();
            ClientLine.Append(line, session);
            json.WriteStartObject();
            foreach (string field in BetweenFields().Split(line.ToString().TrimEnd('\n')))
            {
                int equals = field.IndexOf('=', StringComparison.Ordinal);
                if (equals > 0 && ClientFields.Contains(field[..equals]))
                    json.WriteString(field[..equals], Cut(field[(equals + 1)..]));
            }

            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static void WriteOptions(Utf8JsonWriter json, ServerOptions options, bool withOrigins)
    {
        json.WriteStartArray("options");
        foreach (var option in OptionTable.Rows)
        {
            string value = option.Read(options), byDefault = option.Read(Defaults);
            // What has no effect is of interest to who has set it only.
            bool isShown = option.IsOfConfig && (option.Class == OptionClass.Honoured || value != byDefault);
            if (!isShown) continue;
            json.WriteStartObject();
            json.WriteString("name", option.Name);
            json.WriteString("value", option.IsSecret && value.Length > 0 ? "(redacted)" : Cut(value));
            json.WriteString("default", Cut(byDefault));
            if (withOrigins)
                json.WriteString("origin", Cut(options.Origins.Of(option, isDefault: value == byDefault)));
            json.WriteString("summary",
                option.Class == OptionClass.Honoured ? option.Summary : "known, and without effect");
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    private static string Cut(string text) => text.Length <= CharsMax ? text : text[..CharsMax] + "...";

    // A path in an address may have spaces; no field's name has anything but these.
    [GeneratedRegex(" (?=[a-z-]+=)")]
    private static partial Regex BetweenFields();
}
