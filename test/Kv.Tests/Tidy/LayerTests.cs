using System.Text.RegularExpressions;
using Kv.Protocol;
using Kv.Server;
using Kv.Storage;

namespace Kv.Tests.Tidy;

/// <summary>Who may know whom (docs/architecture.md).</summary>
public partial class LayerTests
{
    /// <summary>Storage's folders: each may use those of the lines before it, and its own.</summary>
    private static readonly string[][] StorageOrder =
    [
        ["Memory"], ["Epochs", "Formats"], ["Records"], ["Log"], ["Index"], ["Structures"], ["Expiry"], ["Store"],
        ["Elements"],
        ["Strings", "Lists", "Hashes", "Sets", "Streams"], ["SortedSets", "Bitmaps", "HyperLogLogs"],
        ["GeoSets"], ["Rdb"],
    ];

    [Fact]
    public void Protocol_and_storage_know_neither_each_other_nor_the_server()
    {
        foreach (var assembly in new[] { typeof(RespType).Assembly, typeof(ValueKind).Assembly })
        {
            Assert.DoesNotContain(assembly.GetReferencedAssemblies(),
                name => name.Name!.StartsWith("Kv.", StringComparison.Ordinal));
        }

        var server = typeof(KvServer).Assembly.GetReferencedAssemblies().Select(name => name.Name);
        Assert.DoesNotContain("kv-server", server);
    }

    /// <summary>The server's parts, from below: none uses one of a later line. Sessions, execution and blocking are one
    /// knot by nature: a row names its handler, a handler's context its session, a session the rows it has queued and
    /// what it waits in.</summary>
    private static readonly string[][] ServerOrder =
    [
        ["Patterns"], ["Configuration", "Effects", "Metrics", "PubSub", "Security"],
        ["Diagnostics", "Notifications", "Tls", "Tracking"],
        ["Sessions", "Execution", "Blocking", "Users"], ["Scripting"], ["Persistence"],
        ["Replication", "Reports"],
        ["Families", "Http"], ["Network"],
    ];

    [Fact]
    public void A_part_of_the_server_does_not_use_those_that_come_after_it()
    {
        var later = ServerOrder.SelectMany((line, i) =>
            from folder in line
            select (folder, others: string.Join('|', ServerOrder.Skip(i + 1).SelectMany(others => others))));
        Assert.Empty(
            from part in later
            where part.others.Length > 0
            from path in Sources($"src/Server/{part.folder}")
            where Regex.IsMatch(Code(path), $@"\bKv\.Server\.({part.others})\b")
            select path);
    }

    /// <summary>What several families share lies in a folder that is nobody's family.</summary>
    [Fact]
    public void A_command_family_uses_no_other_family()
    {
        string[] shared = ["Elements", "Ends", "Values"];
        var files = Sources("src/Server/Families").Where(path => path.Split('/').Length > 4).ToList();
        var owner = files.ToLookup(path => Path.GetFileNameWithoutExtension(path), path => path.Split('/')[3]);
        Assert.NotEmpty(files);
        Assert.Empty(
            from path in files
            let own = path.Split('/')[3]
            from word in Words().Matches(Code(path)).Select(match => match.Value).Distinct()
            from other in owner[word]
            where other != own && !shared.Contains(other)
            select $"{path} uses {other}/{word}");
    }

    // Of its own or of one above it: a part of the server sorts its files into folders without becoming several.
    [Fact]
    public void Every_namespace_is_that_of_its_folder() => Assert.Empty(
        from path in Sources("src").Concat(Sources("test/Kv.Tests"))
        let name = NamespaceOf().Match(Repository.Read(path)).Groups[1].Value
        where name.Length > 0 && !Allowed(path).Contains(name)
        select $"{path} is in {name}");

    [Fact]
    public void Pieces_that_belong_to_nobody_are_not_kept() => Assert.DoesNotContain(
        Repository.Files(), path => OfNobody().IsMatch(path));

    /// <summary>In Storage namespaces are flat, so that the order of its folders is read from what their types are
    /// called by.</summary>
    [Fact]
    public void Storage_uses_its_folders_in_one_order()
    {
        var rank = StorageOrder.SelectMany((folders, i) => folders.Select(folder => (folder, i)))
            .ToDictionary(pair => pair.folder, pair => pair.i);
        var files = Sources("src/Storage").ToList();
        var owner = files.Where(path => path.Split('/').Length >= 4)
            .ToLookup(path => Path.GetFileNameWithoutExtension(path), path => path.Split('/')[2]);
        var wrong = new List<string>();
        foreach (string path in files.Where(path => path.Split('/').Length >= 4))
        {
            string folder = path.Split('/')[2];
            if (!rank.TryGetValue(folder, out int own)) continue;
            foreach (string word in Words().Matches(Code(path)).Select(match => match.Value).Distinct())
            {
                foreach (string other in owner[word])
                {
                    if (other != folder && rank.TryGetValue(other, out int used) && used >= own)
                        wrong.Add($"{path} uses {other}/{word}");
                }
            }
        }

        Assert.Empty(wrong);
    }

    private static IEnumerable<string> Sources(string folder) =>
        Repository.Files(folder).Where(path => path.EndsWith(".cs", StringComparison.Ordinal));

    private static string[] Allowed(string path)
    {
        string[] parts = path.Split('/');
        string top = parts[0] == "test" ? parts[1] : "Kv." + parts[1];
        return [.. Enumerable.Range(2, parts.Length - 2).Select(end => string.Join('.', [top, .. parts[2..end]]))];
    }

    // Without comments: a sentence may name what code may not use.
    private static string Code(string path) => Comments().Replace(Repository.Read(path), "");

    [GeneratedRegex(@"//[^\n]*")]
    private static partial Regex Comments();

    [GeneratedRegex(@"^namespace ([\w.]+);", RegexOptions.Multiline)]
    private static partial Regex NamespaceOf();

    [GeneratedRegex(@"\b[A-Z]\w+\b")]
    private static partial Regex Words();

    [GeneratedRegex(@"(^|/)(Common|Utils?|Utilities|Helpers?|Base|Managers?)(/|\.cs$)|(Utils|Helper|Manager)\.cs$")]
    private static partial Regex OfNobody();
}
