using System.Globalization;
using System.Text;
using Kv.Server.Execution;

namespace Kv.Server.Users;

/// <summary>Reads a file of users: a line each, "user name rule...".</summary>
internal static class UserFile
{
    /// <summary>The longest file: it is read while the clients of a worker wait.</summary>
    public const int BytesMax = 64 << 20;

    /// <summary>Words of a line, among them rules that later ones undo: ten times the rules that a user may
    /// have.</summary>
    private const int WordsMax = 10 * UserBuilder.RulesMax;

    /// <summary>What is said of mistakes: whoever has more of them has chosen the wrong file.</summary>
    private const int ErrorBytesMax = 64 << 10;

    /// <summary>Reads all lines.</summary>
    /// <param name="path">For the errors.</param>
    /// <param name="text">The file, a char for each byte.</param>
    /// <param name="errors">What is wrong with each of the bad lines, as Redis says it.</param>
    public static bool TryRead(string path, string text, CommandTable commands, bool hasAllChannels,
        out Dictionary<string, UserRules> users, out string errors)
    {
        users = new(StringComparer.Ordinal);
        var wrong = new StringBuilder();
        int number = 0;
        foreach (Range line in text.AsSpan().Split('\n'))
        {
            number++;
            string[] words = UserBuilder.Words(text[line], WordsMax + 1);
            if (words.Length == 0) continue;
            if (wrong.Length > ErrorBytesMax)
            {
                wrong.Append(CultureInfo.InvariantCulture, $"Lines from {number} on were not read. ");
                break;
            }

            string where = string.Create(CultureInfo.InvariantCulture, $"{path}:{number}");
            if (words[0] != "user" || words.Length < 2)
                wrong.Append(where).Append(" should start with user keyword followed by the username. ");
            else if (!UserTable.IsName(words[1]) || words[1].Length > UserTable.NameBytesMax)
                wrong.Append('\'').Append(where).Append(CultureInfo.InvariantCulture,
                    $": username '{Cut(words[1])}' contains invalid characters. ");
            else if (users.ContainsKey(words[1]))
                wrong.Append(CultureInfo.InvariantCulture,
                    $"WARNING: Duplicate user '{words[1]}' found on line {number}. ");
            else users.Add(words[1], Read(words[2..], commands, hasAllChannels, where, wrong));
        }

        errors = wrong.ToString();
        return errors.Length == 0;
    }

    private static string Cut(string word) =>
        word.Length <= UserTable.NameBytesMax ? word : word[..UserTable.NameBytesMax] + "...";

    /// <param name="where">The line, for the errors.</param>
    /// <param name="wrong">Gets the errors: the rules that are returned are then not all that there are.</param>
    private static UserRules Read(string[] words, CommandTable commands, bool hasAllChannels, string where,
        StringBuilder wrong)
    {
        var builder = new UserBuilder(commands, hasAllChannels);
        if (words.Length + 2 > WordsMax)
        {
            wrong.Append(where).Append(": ").Append(RuleError.TooMany).Append(". ");
            return builder.Build();
        }

        bool isWrong = false;
        if (UserBuilder.Join(words, out _) is not { } rules)
        {
            wrong.Append(where).Append(": Unmatched parenthesis in selector definition.");
            return builder.Build();
        }

        foreach (string rule in rules)
        {
            if (builder.TryApply([rule], out _, out string? reason)) continue;
            // As in Redis: all commands and categories that there are not, and of other mistakes the first.
            if (reason == RuleError.Unknown)
                wrong.Append(where).Append(": Error in applying operation '").Append(Cut(UserBuilder.Shown(rule)))
                    .Append("': ").Append(reason).Append(". ");
            else if (!isWrong) wrong.Append(where).Append(": ").Append(reason).Append(". ");
            isWrong |= reason != RuleError.Unknown;
            if (reason == RuleError.TooMany || wrong.Length > ErrorBytesMax) break;
        }

        return builder.Build();
    }
}
