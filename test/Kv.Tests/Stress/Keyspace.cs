using System.Globalization;
using System.Text;
using Kv.Tests.Harness;

namespace Kv.Tests.Stress;

/// <summary>A few small collections, and what commands do with them, in the plainest way that there is.</summary>
/// <remarks>
/// As text, two equal ones are equal: a line for each key, its type, and its elements: <c>k h f=1 g=2</c>. A list's are
/// in its order, others' in that of their names. Names and values are letters and digits, scores are integers, and no
/// command meets another type.
/// </remarks>
internal sealed class Keyspace
{
    private readonly SortedDictionary<string,
        (char Type, List<(string Name, string Value)> Elements)> _keys = new(StringComparer.Ordinal);

    public static Keyspace Parse(string text)
    {
        var keyspace = new Keyspace();
        foreach (string line in text.Split('\n', StringSplitOptions.RemoveEmptyEntries))
        {
            string[] words = line.Split(' ');
            keyspace._keys[words[0]] = (words[1][0],
                [.. words.Skip(2).Select(word => (word[..word.IndexOf('=')], word[(word.IndexOf('=') + 1)..]))]);
        }

        return keyspace;
    }

    public override string ToString()
    {
        var text = new StringBuilder();
        foreach (var (key, (type, elements)) in _keys)
        {
            text.Append(key).Append(' ').Append(type);
            foreach (var (name, value) in elements) text.Append(' ').Append(name).Append('=').Append(value);
            text.Append('\n');
        }

        return text.ToString();
    }

    /// <summary>Does a command.</summary>
    /// <param name="answer">What a server answered.</param>
    /// <returns>Whether that is right here and now.</returns>
    public bool Answers(string command, Reply answer)
    {
        string[] words = command.Split(' ');
        switch (words[0])
        {
            // Whoever draws a member says which: it has to be there.
            case "SPOP":
                return answer.IsNull ? !_keys.ContainsKey(words[1]) : Remove(words[1], 's', answer.String);
            case "SRANDMEMBER":
                return answer.IsNull ? !_keys.ContainsKey(words[1]) : Find(words[1], 's', answer.String) != null;
            // The order is the server's.
            case "SMEMBERS":
            case "HGETALL":
                return Array(Pairs(answer, words[0] == "HGETALL").Order(StringComparer.Ordinal))
                    == Array(Of(words[1], words[0] == "HGETALL" ? 'h' : 's').Select(Text)
                        .Order(StringComparer.Ordinal));
            default:
                return Answer(words) == answer.ToString();
        }
    }

    private static IEnumerable<string> Pairs(Reply answer, bool hasValues)
    {
        var texts = answer.Items!.Select(item => item.String).ToArray();
        return hasValues ? texts.Chunk(2).Select(pair => string.Join('=', pair)) : texts.Select(text => text + "=");
    }

    private static string Text((string Name, string Value) element) => $"{element.Name}={element.Value}";

    private string Answer(string[] words)
    {
        string key = words[1];
        switch (words[0])
        {
            case "DEL":
                return Number(words.Skip(1).Count(_keys.Remove));
            case "EXISTS":
                return Number(words.Skip(1).Count(_keys.ContainsKey));
            case "RENAME":
                if (!_keys.Remove(key, out var moved)) return "-ERR no such key";
                _keys[words[2]] = moved;
                return "+OK";
            case "COPY":        // with REPLACE
                if (!_keys.TryGetValue(key, out var copied)) return ":0";
                _keys[words[2]] = (copied.Type, [.. copied.Elements]);
                return ":1";
            default:
                return words[0][0] switch
                {
                    'S' => AnswerOfSet(key, words),
                    'H' => AnswerOfHash(key, words),
                    'Z' => AnswerOfScores(key, words),
                    _ => AnswerOfList(key, words),
                };
        }
    }

    private string AnswerOfList(string key, string[] words)
    {
        var list = Of(key, 'l');
        switch (words[0])
        {
            case "LPUSH":
            case "RPUSH":
                foreach (string element in words.Skip(2))
                    Change(key, 'l', of => of.Insert(words[0] == "LPUSH" ? 0 : of.Count, (element, "")));
                return Number(Of(key, 'l').Count);
            case "LPOP":
            case "RPOP":
                return Bulk(Pop(key, words[0] == "LPOP"));
            case "LMOVE":
                string? taken = Pop(key, words[3] == "LEFT");
                if (taken != null)
                    Change(words[2], 'l', of => of.Insert(words[4] == "LEFT" ? 0 : of.Count, (taken, "")));
                return Bulk(taken);
            case "LLEN":
                return Number(list.Count);
            case "LINDEX":
                int index = Integer(words[2]);
                if (index < 0) index += list.Count;
                return Bulk(index >= 0 && index < list.Count ? list[index].Name : null);
            case "LRANGE":      // all of it
                return Array(list.Select(element => Bulk(element.Name)));
            default:
                throw new ArgumentException(words[0]);
        }
    }

    private string? Pop(string key, bool left)
    {
        var list = Of(key, 'l');
        if (list.Count == 0) return null;
        int index = left ? 0 : list.Count - 1;
        string element = list[index].Name;
        Change(key, 'l', of => of.RemoveAt(index));
        return element;
    }

    private string AnswerOfSet(string key, string[] words)
    {
        switch (words[0])
        {
            case "SADD":
                return Number(words.Skip(2).Count(member => Put(key, 's', member, "")));
            case "SREM":
                return Number(words.Skip(2).Count(member => Remove(key, 's', member)));
            case "SISMEMBER":
                return Number(Find(key, 's', words[2]) != null ? 1 : 0);
            case "SMISMEMBER":
                return Array(words.Skip(2).Select(member => Number(Find(key, 's', member) != null ? 1 : 0)));
            case "SCARD":
                return Number(Of(key, 's').Count);
            case "SMOVE":
                if (!Remove(key, 's', words[3])) return ":0";
                Put(words[2], 's', words[3], "");
                return ":1";
            case "SUNIONSTORE":
                var union = words.Skip(2).SelectMany(source => Of(source, 's')).Distinct().ToArray();
                _keys.Remove(key);
                foreach (var (member, _) in union) Put(key, 's', member, "");
                return Number(union.Length);
            default:
                throw new ArgumentException(words[0]);
        }
    }

    private string AnswerOfHash(string key, string[] words)
    {
        switch (words[0])
        {
            case "HSET":
                return Number(words.Skip(2).Chunk(2).Count(pair => Put(key, 'h', pair[0], pair[1])));
            case "HSETNX":
                return Number(Find(key, 'h', words[2]) == null && Put(key, 'h', words[2], words[3]) ? 1 : 0);
            case "HDEL":
                return Number(words.Skip(2).Count(field => Remove(key, 'h', field)));
            case "HGET":
                return Bulk(Find(key, 'h', words[2]));
            case "HMGET":
                return Array(words.Skip(2).Select(field => Bulk(Find(key, 'h', field))));
            case "HINCRBY":
                int sum = Integer(Find(key, 'h', words[2]) ?? "0") + Integer(words[3]);
                Put(key, 'h', words[2], Text(sum));
                return Number(sum);
            case "HLEN":
                return Number(Of(key, 'h').Count);
            default:
                throw new ArgumentException(words[0]);
        }
    }

    private string AnswerOfScores(string key, string[] words)
    {
        var byScore = Of(key, 'z').OrderBy(element => Integer(element.Value))
            .ThenBy(element => element.Name, StringComparer.Ordinal).ToList();
        switch (words[0])
        {
            case "ZADD":
                return Number(words.Skip(2).Chunk(2).Count(pair => Put(key, 'z', pair[1], pair[0])));
            case "ZREM":
                return Number(words.Skip(2).Count(member => Remove(key, 'z', member)));
            case "ZINCRBY":
                string sum = Text(Integer(Find(key, 'z', words[3]) ?? "0") + Integer(words[2]));
                Put(key, 'z', words[3], sum);
                return Bulk(sum);
            case "ZSCORE":
                return Bulk(Find(key, 'z', words[2]));
            case "ZRANK":
                int rank = byScore.FindIndex(element => element.Name == words[2]);
                return rank < 0 ? "$-1" : Number(rank);
            case "ZCARD":
                return Number(byScore.Count);
            case "ZRANGE":      // all of it, with scores
                return Array(byScore.SelectMany(element => (string[])[Bulk(element.Name), Bulk(element.Value)]));
            case "ZPOPMIN":
            case "ZPOPMAX":
                if (byScore.Count == 0) return "[]";
                var popped = words[0] == "ZPOPMIN" ? byScore[0] : byScore[^1];
                Remove(key, 'z', popped.Name);
                return Array([Bulk(popped.Name), Bulk(popped.Value)]);
            default:
                throw new ArgumentException(words[0]);
        }
    }

    private List<(string Name, string Value)> Of(string key, char type)
    {
        if (!_keys.TryGetValue(key, out var value)) return [];
        return value.Type == type ? value.Elements : throw new InvalidOperationException($"{key} is of another type");
    }

    private string? Find(string key, char type, string name)
    {
        foreach (var (other, value) in Of(key, type))
            if (other == name) return value;
        return null;
    }

    /// <summary>Sets an element of a collection that has each name once.</summary>
    /// <returns>Whether it was not there.</returns>
    private bool Put(string key, char type, string name, string value)
    {
        bool added = false;
        Change(key, type, elements =>
        {
            int at = elements.FindIndex(element => string.CompareOrdinal(element.Name, name) >= 0);
            if (at < 0) at = elements.Count;
            added = at == elements.Count || elements[at].Name != name;
            if (added) elements.Insert(at, (name, value));
            else elements[at] = (name, value);
        });
        return added;
    }

    private bool Remove(string key, char type, string name)
    {
        if (Find(key, type, name) == null) return false;
        Change(key, type, elements => elements.RemoveAll(element => element.Name == name));
        return true;
    }

    private void Change(string key, char type, Action<List<(string Name, string Value)>> change)
    {
        var elements = Of(key, type);
        change(elements);
        if (elements.Count == 0) _keys.Remove(key);
        else _keys[key] = (type, elements);
    }

    private static int Integer(string text) => int.Parse(text, CultureInfo.InvariantCulture);
    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
    private static string Number(int number) => ":" + Text(number);
    private static string Bulk(string? text) => text == null ? "$-1" : $"\"{text}\"";
    private static string Array(IEnumerable<string> items) => $"[{string.Join(' ', items)}]";
}
