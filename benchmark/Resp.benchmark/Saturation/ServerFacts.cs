using System.Globalization;
using Kv.Protocol;
using RespBenchmark.Network;

namespace RespBenchmark.Saturation;

/// <summary>What a server says of itself: INFO and CONFIG GET, as far as it answers them.</summary>
internal sealed class ServerFacts
{
    private readonly Dictionary<string, string> _info = [], _config = [];

    /// <summary>Facts from the texts themselves.</summary>
    public ServerFacts(string info, IReadOnlyDictionary<string, string> config)
    {
        foreach (string line in info.Split('\n'))
        {
            int colon = line.IndexOf(':', StringComparison.Ordinal);
            if (colon > 0 && line[0] != '#') _info[line[..colon]] = line[(colon + 1)..].TrimEnd('\r');
        }

        foreach ((string name, string value) in config) _config[name] = value;
    }

    public IReadOnlyDictionary<string, string> Info => _info;

    public IReadOnlyDictionary<string, string> Config => _config;

    public int? ProcessId => (int?)Number("process_id");

    /// <summary>redis 7.0.15, garnet 2.2.5, kv 0.1.0 ...: name and version, as far as they are said.</summary>
    public string Name
    {
        get
        {
            foreach (string other in (string[])["kv", "garnet", "valkey", "dragonfly", "keydb"])
                if (_info.TryGetValue($"{other}_version", out string? version)) return $"{other} {version}";
            if (_info.TryGetValue("server_name", out string? name) && name != "redis")
                return $"{name} {_info.GetValueOrDefault("redis_version")}";
            return _info.TryGetValue("redis_version", out string? redis) ? $"redis {redis}" : "unknown";
        }
    }

    /// <summary>Asks a server; what it refuses is left out.</summary>
    public static ServerFacts Read(ControlConnection connection)
    {
        var config = new Dictionary<string, string>();
        RespValue options = connection.Send("CONFIG", "GET", "*");
        RespValue[] elements = options.IsError || options.IsNull ? [] : options.Elements;
        for (int index = 0; index + 1 < elements.Length; index += 2)
            config[elements[index].Text] = elements[index + 1].Text;
        return new ServerFacts(connection.TryText("INFO") ?? "", config);
    }

    /// <summary>A number of INFO; null where there is none.</summary>
    public long? Number(string field) =>
        _info.TryGetValue(field, out string? text)
        && long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long number)
            ? number : null;

    /// <summary>A number of CONFIG; null where there is none.</summary>
    public long? Setting(string option) =>
        _config.TryGetValue(option, out string? text)
        && long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long number)
            ? number : null;
}
