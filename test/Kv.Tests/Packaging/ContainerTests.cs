using System.Net;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;
using Kv.Tests.Harness;
using Kv.Tests.Tidy;

namespace Kv.Tests.Packaging;

/// <summary>The steps of the Containerfile, done by hand in a clean folder: where there is no engine, they are proved
/// all the same, but for what the system's own packages bring.</summary>
public sealed partial class ContainerTests : IDisposable
{
    private const int BuildMs = 900_000;

    private readonly string _root = Directory.CreateTempSubdirectory("kv-container-").FullName;
    private readonly string[] _lines = [.. Repository.Read("packaging/container/Containerfile")
        .Replace("\\\n", "", StringComparison.Ordinal).Split('\n')
        .Where(line => line.Length > 0 && line[0] != '#')];

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void The_steps_of_the_file_make_a_server_that_starts_by_all_its_names_and_is_healthy()
    {
        Requires.Linux("containers");
        Build();
        string bin = Path.Combine(_root, "usr/local/bin"), data = Path.Combine(_root, "data");
        int port = ServerProgram.FreePort();
        var surroundings = new List<(string, string)>
        {
            ("PATH", $"{bin}:/usr/bin:/bin"), ("KV_PORT", $"{port}"), ("KV_REQUIREPASS", "secret"),
        };
        string env = _lines.Single(line => line.StartsWith("ENV ", StringComparison.Ordinal));
        foreach (Match pair in Assign().Matches(env))
            surroundings.Add((pair.Groups[1].Value,
                pair.Groups[2].Value.Trim('"').Replace("/data", data, StringComparison.Ordinal)));
        // The published program, not this machine's runtime.
        surroundings.Add(("DOTNET_ROOT", "/nonexistent"));

        using (var kv = new Container(["entry", "kv-server"], port, [.. surroundings]))
        {
            Assert.True(kv.WaitUntilReady(), kv.Log);
            string health = _lines.Single(line => line.StartsWith("HEALTHCHECK", StringComparison.Ordinal));
            string[] command = [.. Quoted().Matches(health).Select(match => match.Groups[1].Value)];
            Assert.Equal(["kv-server", "--health"], command);
            Assert.Equal(0, Run(surroundings, command).ExitCode);
            Assert.Equal(0, Run(surroundings, [.. command, "--ready"]).ExitCode);
            Assert.Equal(1, Run([.. surroundings, ("KV_PORT", "1")], command).ExitCode);
            using var client = kv.Connect();
            client.Ok("AUTH secret");
            Assert.Equal(data, client.Ok("CONFIG GET dir").Items![1].String);
        }

        // As hosts of applications start it.
        using (var kv = new Container(["entry", "/bin/sh", "-c", "redis-server --requirepass $P --save 60 1"], port,
            [.. surroundings, ("P", "other")]))
        {
            Assert.True(kv.WaitUntilReady(), kv.Log);
            using var client = kv.Connect();
            client.Ok("AUTH other");
        }

        foreach (string[] words in (string[][])[["entry", "--version"], ["redis-server", "--version"],
            ["entry", "kv-server", "--version"]])
            Assert.StartsWith("kv-server 0.", Run(surroundings, words).Output, StringComparison.Ordinal);
        Assert.Equal(0, Run(surroundings, ["Resp.benchmark", "--version"]).ExitCode);
    }

    /// <summary>Runs what the file runs and copies what it copies, below a folder of ours.</summary>
    private void Build()
    {
        foreach (string folder in (string[])["src", "out", "opt", "usr/local/bin", "data"])
            Directory.CreateDirectory(Path.Combine(_root, folder));
        bool isLast = false;
        int begun = 0;
        foreach (string line in _lines)
        {
            string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (words[0] == "FROM") isLast = ++begun == 2;
            else if (words[0] == "COPY" && words[1] == "--from=build") Directory.Move(In(words[2]), In(words[3]));
            else if (words[0] == "COPY") Copy(words[1..^1], isLast ? words[^1] : Path.Combine("/src", words[^1]));
            else if (words[0] == "RUN" && !IsOfSystem(line)) Step(line[4..]);
        }
    }

    private static bool IsOfSystem(string line) => line.Contains("apt-get", StringComparison.Ordinal)
        || line.Contains("useradd", StringComparison.Ordinal);

    private void Step(string command)
    {
        string ours = Absolute().Replace(command, match => $" {_root}{match.Groups[1].Value}");
        string architecture = RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? "arm64" : "amd64";
        var run = ChildProcess.Run("/usr/bin/env",
        [
            "-C", In("/src"), $"TARGETARCH={architecture}", "MSBUILDDISABLENODEREUSE=1", "UseSharedCompilation=false",
            "RunAnalyzers=false",
            "PublishReadyToRun=false",      // half of the time, and nothing that is looked at here
            "sh", "-ec", ours,
        ], timeoutMs: BuildMs);
        Assert.True(run.ExitCode == 0, $"{ours}\n{run.Output}{run.Errors}");
    }

    /// <summary>Copies files of the repository, and no others.</summary>
    private void Copy(string[] from, string to)
    {
        foreach (string path in Repository.Files())
        {
            string? source = from.FirstOrDefault(name => path == name
                || path.StartsWith(name + "/", StringComparison.Ordinal));
            if (source == null) continue;
            bool toFolder = to.EndsWith('/') || to.EndsWith('.');
            string target = path == source && !toFolder ? In(to)
                : path == source ? Path.Combine(In(to), path) : Path.Combine(In(to), path[(source.Length + 1)..]);
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            File.Copy(Path.Combine(Requires.Root(), path), target);
        }
    }

    private string In(string path) => Path.GetFullPath(_root + "/" + path.TrimStart('/'));

    private static ChildResult Run(IEnumerable<(string Name, string Value)> surroundings, string[] words) =>
        ChildProcess.Run("/usr/bin/env", [.. surroundings.Select(pair => $"{pair.Name}={pair.Value}"), .. words]);

    private sealed class Container(string[] words, int port, params (string Name, string Value)[] surroundings)
        : ServerProgram("/usr/bin/env", [.. surroundings.Select(pair => $"{pair.Name}={pair.Value}"), .. words],
            new IPEndPoint(IPAddress.Loopback, port))
    {
        public override string Name => "kv-server";
    }

    [GeneratedRegex(@"(KV_\w+)=(""[^""]*""|\S+)")]
    private static partial Regex Assign();

    [GeneratedRegex(@"""([^""]+)""")]
    private static partial Regex Quoted();

    [GeneratedRegex(@" (/(out|opt|usr/local)\b)")]
    private static partial Regex Absolute();
}
