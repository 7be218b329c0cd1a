using System.Diagnostics;

namespace Kv.Tests.Tidy;

/// <summary>The sources that this test program was built from.</summary>
internal static class Repository
{
    private static readonly string? Found = FindRoot();

    /// <summary>The folder of Kv.sln; skips the test where the program was copied away from its sources.</summary>
    public static string Root
    {
        get
        {
            if (Found == null) Assert.Skip("the sources are not there: no Kv.sln above the test program");
            return Found!;
        }
    }

    /// <summary>Files below a folder, as paths from the root with "/": what git knows or would add.</summary>
    public static IEnumerable<string> Files(string folder = "")
    {
        using var git = Process.Start(new ProcessStartInfo(
            "git", ["ls-files", "--cached", "--others", "--exclude-standard", "--", folder.Length == 0 ? "." : folder])
        {
            WorkingDirectory = Root, RedirectStandardOutput = true,
        })!;
        string[] paths = git.StandardOutput.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        git.WaitForExit();
        Assert.Equal(0, git.ExitCode);
        return paths.Where(path => File.Exists(Path.Combine(Root, path)));
    }

    public static string Read(string path) => File.ReadAllText(Path.Combine(Root, path));

    private static string? FindRoot()
    {
        var folder = new DirectoryInfo(AppContext.BaseDirectory);
        while (folder != null && !File.Exists(Path.Combine(folder.FullName, "Kv.sln"))) folder = folder.Parent;
        return folder?.FullName;
    }
}
