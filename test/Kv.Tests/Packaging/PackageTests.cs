using System.IO.Compression;
using System.Net;
using Kv.Tests.Harness;
using Kv.Tests.Tidy;

namespace Kv.Tests.Packaging;

/// <summary>What dotnet pack makes: packages that say what they are, install from a folder, and run.</summary>
public sealed class PackageTests(PackedFolder packages) : IClassFixture<PackedFolder>
{
    private const string Version = "0.1.0";

    private static readonly string[] Libraries = ["Kv.Lua", "Kv.Protocol", "Kv.Server", "Kv.Storage"];

    private static readonly string[] Tools = ["kv-server", "resp-benchmark"];

    [Fact]
    public void Every_package_has_a_readme_a_license_and_symbols()
    {
        Assert.Equal(Libraries.Concat(Tools).Order(StringComparer.Ordinal),
            Directory.GetFiles(packages.Path, "*.nupkg")
                .Select(path => Path.GetFileName(path)[..^$".{Version}.nupkg".Length]).Order(StringComparer.Ordinal));
        foreach (string name in Libraries.Concat(Tools))
        {
            using var package = ZipFile.OpenRead(Path.Combine(packages.Path, $"{name}.{Version}.nupkg"));
            using var nuspec = new StreamReader(package.GetEntry($"{name}.nuspec")!.Open());
            string text = nuspec.ReadToEnd();
            Assert.Contains("<license type=\"expression\">MIT</license>", text, StringComparison.Ordinal);
            Assert.Contains("<readme>README.md</readme>", text, StringComparison.Ordinal);
            Assert.Contains("<description>", text, StringComparison.Ordinal);
            using var readme = new StreamReader(package.GetEntry("README.md")!.Open());
            Assert.StartsWith($"# {name}\n", readme.ReadToEnd(), StringComparison.Ordinal);
            using var symbols = ZipFile.OpenRead(Path.Combine(packages.Path, $"{name}.{Version}.snupkg"));
            Assert.Contains(symbols.Entries, entry => entry.Name.EndsWith(".pdb", StringComparison.Ordinal));
        }
    }

    [Fact]
    public void A_program_that_takes_the_packages_has_a_server_inside()
    {
        string folder = packages.NewFolder("program");
        File.WriteAllText(Path.Combine(folder, "program.csproj"), $"""
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup>
                <OutputType>Exe</OutputType>
                <TargetFramework>net10.0</TargetFramework>
                <ImplicitUsings>enable</ImplicitUsings>
              </PropertyGroup>
              <ItemGroup><PackageReference Include="Kv.Server" Version="{Version}" /></ItemGroup>
            </Project>
            """);
        string readme = Repository.Read("packaging/packages/Kv.Server.md");
        string code = readme.Split("```csharp\n")[1].Split("```")[0];
        File.WriteAllText(Path.Combine(folder, "Program.cs"), code + """
            wire.Write("SET k v\r\nEVAL \"return redis.call('GET', KEYS[1])\" 1 k\r\n"u8);
            var reply = new byte[12];
            wire.ReadExactly(reply);
            Console.WriteLine(System.Text.Encoding.ASCII.GetString(reply).Replace("\r\n", "|"));
            """);
        var run = packages.Dotnet("run", "--project", folder);
        Assert.Matches("^(127\\.0\\.0\\.1|\\[::1\\]):[0-9]+\n\\+OK\\|\\$1\\|v\\|$", run.Output.Trim());
    }

    [Fact]
    public void The_tools_install_from_a_folder_and_serve_and_load()
    {
        string tools = packages.NewFolder("tools");
        string config = Path.Combine(Path.GetDirectoryName(packages.Path)!, "nuget.config");
        foreach (string name in Tools)
            packages.Dotnet("tool", "install", name, "--tool-path", tools, "--configfile", config,
                "--version", Version);
        int port = ServerProgram.FreePort();
        using var kv = new Tool(Path.Combine(tools, "kv-server"), port);
        Assert.True(kv.WaitUntilReady(), kv.Log);
        using var client = kv.Connect();
        client.Ok("SET k v");
        var load = ChildProcess.Run(Path.Combine(tools, "resp-benchmark"),
            ["--as", "redis-benchmark", "-p", $"{port}", "-t", "set", "-n", "1000", "-q"]);
        Assert.Equal(0, load.ExitCode);
        Assert.Contains("SET: ", load.Output, StringComparison.Ordinal);
        string file = Path.Combine(packages.NewFolder("etc"), "kv.conf");
        File.WriteAllText(file, "port 1\n");
        foreach (string line in Tools.SelectMany(name => Repository.Read($"packaging/packages/{name}.md").Split('\n')))
        {
            // What goes on until it is stopped has run above.
            string[] words = line.Replace("/etc/kv.conf", file, StringComparison.Ordinal)
                .Replace("6379", $"{port}", StringComparison.Ordinal).Split(' ');
            if (!Tools.Contains(words[0]) || line.Contains("--maxmemory", StringComparison.Ordinal)) continue;
            var run = ChildProcess.Run(Path.Combine(tools, words[0]), words[1..]);
            Assert.True(run.ExitCode == 0, $"{line}\n{run.Output}{run.Errors}");
        }
    }

    private sealed class Tool(string program, int port)
        : ServerProgram(program, ["--port", $"{port}"], new IPEndPoint(IPAddress.Loopback, port))
    {
        public override string Name => "kv-server";
    }
}
