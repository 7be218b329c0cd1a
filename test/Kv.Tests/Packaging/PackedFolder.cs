using Kv.Tests.Harness;

namespace Kv.Tests.Packaging;

/// <summary>All packages, packed once into a folder of their own, with nothing shared with other builds.</summary>
public sealed class PackedFolder : IDisposable
{
    // A build of everything on a machine that does something else.
    private const int BuildMs = 900_000;

    private readonly string _directory = Directory.CreateTempSubdirectory("kv-packages-").FullName;

    public PackedFolder()
    {
        Path = System.IO.Path.Combine(_directory, "packages");
        string project = System.IO.Path.Combine(Requires.Root(), "packaging", "packages.proj");
        var run = ChildProcess.Run("dotnet", ["pack", project, "-o", Path,
            "--artifacts-path", System.IO.Path.Combine(_directory, "artifacts"), "-v", "q", "-nologo",
            "-nodeReuse:false", "-p:UseSharedCompilation=false", "-p:RunAnalyzers=false"], timeoutMs: BuildMs);
        Assert.True(run.ExitCode == 0, run.Output + run.Errors);
        // Nothing comes from afar: what the packages need is what this machine has restored before.
        File.WriteAllText(System.IO.Path.Combine(_directory, "nuget.config"), $"""
            <configuration>
              <packageSources><clear /><add key="packed" value="{Path}" /></packageSources>
              <fallbackPackageFolders><clear /><add key="restored" value="{Restored()}" /></fallbackPackageFolders>
            </configuration>
            """);
    }

    /// <summary>Where the packages are.</summary>
    public string Path { get; }

    /// <summary>An empty folder below which packages come from <see cref="Path"/> only.</summary>
    public string NewFolder(string name) =>
        Directory.CreateDirectory(System.IO.Path.Combine(_directory, name)).FullName;

    /// <summary>Runs dotnet with a package cache of its own.</summary>
    public ChildResult Dotnet(params string[] arguments)
    {
        var run = ChildProcess.Run("dotnet", arguments, timeoutMs: BuildMs,
            variable: ("NUGET_PACKAGES", System.IO.Path.Combine(_directory, "cache")));
        Assert.True(run.ExitCode == 0, $"dotnet {string.Join(' ', arguments)}\n{run.Output}{run.Errors}");
        return run;
    }

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private static string Restored() => Environment.GetEnvironmentVariable("NUGET_PACKAGES") is { Length: > 0 } given
        ? given : System.IO.Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile),
            ".nuget", "packages");
}
