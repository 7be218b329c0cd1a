using System.Globalization;
using System.Text;
using Kv.Protocol;
using RespBenchmark.Native;
using RespBenchmark.Network;
using RespBenchmark.Workload;

namespace RespBenchmark.Suites;

/// <summary>Finds out whether a target has the commands of a panel, before it is loaded.</summary>
/// <remarks>
/// Of each kind of command one request as the panel would send it: first COMMAND INFO says whether its name is known
/// and takes so many arguments, then the request itself is sent, because a server may know a name and refuse the form
/// (an option, a module that is switched off, a user without the right). A panel that empties its target does so
/// before.
/// </remarks>
internal static class CommandProbe
{
    // Renders until each kind was seen: a mix of percents shows all of them within its first hundred.
    private const int RendersMax = 1000;

    // What a server answers that does not have the command in this form. Other errors are of data or of the moment.
    private static readonly string[] Refusals =
        ["unknown", "wrong number of arguments", "syntax error", "NOPERM", "disabled", "not supported",
            "not implemented", "not allowed"];

    /// <returns>Why the panel cannot run there; null: it can.</returns>
    /// <exception cref="ConnectException">The target cannot be reached.</exception>
    public static string? Missing(Target target, RunVerb options)
    {
        var reader = new WorkloadReader(options);
        ShapedWorkload workload = reader.Workload(1);
        IEnumerable<ProbeRequest> requests = RequestsOf(workload);
        if (options.Load != "none" && reader.Load() is { } load) requests = RequestsOf(load.Workload).Concat(requests);
        using ControlConnection control = ControlConnection.Open(target);
        if (options.Flush) control.Send("FLUSHALL");
        foreach (string script in workload.Scripts)
        {
            RespValue reply = control.Send("SCRIPT", "LOAD", script);
            if (reply.IsError) return $"scripts do not load: {reply.Text}";
        }

        return requests.DistinctBy(request => request.Kind).Select(request => Refusal(control, request))
            .FirstOrDefault(reason => reason is not null);
    }

    /// <summary>For what is more than one request: by name alone, which changes nothing.</summary>
    /// <returns>The first command that is not known there, in words; null: all are.</returns>
    public static string? Missing(Target target, IEnumerable<string> commands)
    {
        using ControlConnection control = ControlConnection.Open(target);
        foreach (string name in commands)
        {
            RespValue known = control.Send("COMMAND", "INFO", name);
            if (known is { IsError: false, IsNull: false, Type: RespType.Array, Elements: [var info, ..] })
            {
                if (info.IsNull || info.Elements.Length == 0) return $"{name} is not known there";
                continue;
            }

            RespValue reply = control.Send(name);
            if (reply.IsError && reply.Text.Contains("unknown command", StringComparison.OrdinalIgnoreCase))
                return $"{name} is not known there";
        }

        return null;
    }

    /// <summary>One request of each kind, as it goes over the wire.</summary>
    internal static IReadOnlyList<ProbeRequest> RequestsOf(Workload.Workload workload)
    {
        var found = new Dictionary<int, ProbeRequest>();
        using RequestSource source = workload.Open(loop: 0, loops: 1, sessions: 1, seed: 1);
        var session = new SessionStream();
        bool isRest = false;
        // Ends: after so many renders, or with the stream of a load.
        for (int render = 0; render < RendersMax && found.Count < workload.Kinds.Count; render++)
        {
            RequestChunk chunk = source.Render(ref session, commandsMax: 1);
            if (chunk.Bytes.IsEmpty) break;
            int kind = chunk.Kinds.IsEmpty ? chunk.Kind : chunk.Kinds[0];
            // A command longer than an image comes in pieces, of which the first says all but the values.
            if (!isRest)
                found.TryAdd(kind, ProbeRequest.Read(workload.Kinds[kind].Name, chunk.Bytes, isWhole: !chunk.IsCut));
            isRest = chunk.IsCut;
        }

        return [.. found.Values];
    }

    private static string? Refusal(ControlConnection control, ProbeRequest request)
    {
        RespValue known = control.Send("COMMAND", "INFO", request.Command);
        if (known is { IsError: false, IsNull: false, Type: RespType.Array, Elements: [var info, ..] })
        {
            if (info.IsNull || info.Elements.Length == 0) return $"{request.Command} is not known there";
            if (info.Elements is [_, { Type: RespType.Integer, Integer: var arity }, ..] && !Fits(request.Words, arity))
                return string.Create(CultureInfo.InvariantCulture,
                    $"{request.Command} does not take {request.Words - 1} arguments there (arity {arity})");
        }

        if (!request.IsWhole) return null;
        RespValue reply = control.Send(request.Bytes);
        if (!reply.IsError) return null;
        if (reply.Text.Contains("unknown command", StringComparison.OrdinalIgnoreCase))
            return $"{request.Command} is not known there";
        return Refusals.Any(words => reply.Text.Contains(words, StringComparison.OrdinalIgnoreCase))
            ? reply.Text : null;
    }

    /// <summary>Arity as COMMAND says it: the name counts, and a negative one is the least.</summary>
    private static bool Fits(int words, long arity) => arity >= 0 ? words == arity : words >= -arity;
}

/// <summary>A request to probe with.</summary>
/// <param name="Kind">As reports call it.</param>
/// <param name="Command">The command's name on the wire.</param>
/// <param name="Words">Its arguments, the name among them.</param>
/// <param name="IsWhole">Else <paramref name="Bytes"/> are its beginning.</param>
internal sealed record ProbeRequest(string Kind, string Command, int Words, byte[] Bytes, bool IsWhole)
{
    //  *3\r\n$3\r\nSET\r\n...      an array of words; or a line without it: PING\r\n
    public static ProbeRequest Read(string kind, ReadOnlySpan<byte> bytes, bool isWhole)
    {
        string[] lines = Encoding.Latin1.GetString(bytes[..Math.Min(bytes.Length, 256)]).Split("\r\n");
        bool isArray = lines.Length > 2 && lines[0].StartsWith('*');
        return isArray
            ? new ProbeRequest(kind, lines[2].ToUpperInvariant(),
                int.Parse(lines[0].AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture),
                bytes.ToArray(), isWhole)
            : new ProbeRequest(kind, lines[0].Split(' ')[0].ToUpperInvariant(), lines[0].Split(' ').Length,
                bytes.ToArray(), isWhole);
    }
}
