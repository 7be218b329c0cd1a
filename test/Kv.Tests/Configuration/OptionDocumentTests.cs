using Kv.Server.Configuration;

namespace Kv.Tests.Configuration;

public class OptionDocumentTests
{
    [Fact]
    public void The_document_of_options_is_in_step_with_the_rows()
    {
        string path = Path.Combine(Root(), "docs", "configuration.md");
        if (Environment.GetEnvironmentVariable("KV_REWRITE") == "1")
        {
            Directory.CreateDirectory(Path.GetDirectoryName(path)!);
            File.WriteAllText(path, OptionDocument.Text());
        }

        Assert.True(File.Exists(path) && File.ReadAllText(path) == OptionDocument.Text(),
            "docs/configuration.md is out of step: run this test with KV_REWRITE=1");
    }

    private static string Root()
    {
        var directory = new DirectoryInfo(AppContext.BaseDirectory);
        // Ends: at the root of the file system there is no parent, and Assert.NotNull stops.
        while (!File.Exists(Path.Combine(directory.FullName, "Kv.sln")))
        {
            directory = directory.Parent;
            Assert.NotNull(directory);
        }

        return directory.FullName;
    }
}
