using System.Globalization;
using System.Text;
using Kv.Server.Execution;

namespace Kv.Server.Users;

/// <summary>Reads a file of users: a line each, "user name rule...".</summary>
internal static class UserFile
{
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
        foreach (string line in text.Split('\n'))
        {
            number++;
            string[] words = UserBuilder.Words(line);
            if (words.Length == 0) continue;
            string where = string.Create(CultureInfo.InvariantCulture, $"{path}:{number}");
            if (words[0] != "user" || words.Length < 2)
                wrong.Append(where).Append(" should start with user keyword followed by the username. ");
            else if (users.ContainsKey(words[1]))
                wrong.Append(CultureInfo.InvariantCulture,
                    $"WARNING: Duplicate user '{words[1]}' found on line {number}. ");
            else if (Read(words[2..], commands, hasAllChannels, out string error) is { } rules)
                users.Add(words[1], rules);
            else wrong.Append(where).Append(": ").Append(error);
        }

        errors = wrong.ToString();
        return errors.Length == 0;
    }

    private static UserRules? Read(string[] words, CommandTable commands, bool hasAllChannels, out string error)
    {
        error = "";
        if (UserBuilder.Join(words, out _) is not { } rules)
        {
            error = "Unmatched parenthesis in selector definition.";
            return null;
        }

        var builder = new UserBuilder(commands, hasAllChannels);
        if (builder.TryApply(rules, out string? rule, out string? reason)) return builder.Build();
        error = reason == RuleError.Syntax ? reason + ". "
            : $"Error in applying operation '{UserBuilder.Shown(rule)}': {reason}. ";
        return null;
    }
}
